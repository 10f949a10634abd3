/* SPDX-License-Identifier: MIT */
/*
 * Builds bwrap's arguments. The cell's root has these files, each of them for a reason:
 *
 *   the program, /usr/lib/<multiarch>, the loader   the program needs them to run at all
 *   spec->readable                                  firmware, and ld.so.cache, which saves the
 *                                                   loader 100 look-ups
 *   /dev/null                                       QEMU tries file locks on it; a cell with a
 *                                                   shared directory lacks it, since root could
 *                                                   change its mode there
 *   /dev/kvm                                        the device of the host that spec->device names
 *   spec->data                                      copies of files that the program opens by path
 *   spec->files                                     files of the host themselves, without a copy
 *   /dev/net/tun                                    if spec->tun is set: for a tap in the cell's
 *                                                   network namespace
 *   /proc                                           if spec->proc is set
 *
 * The program that serves a shared directory is a companion, and cell_spawn() does not make its
 * cell. The cell of such a program also has /proc, the directory, and /empty. The guest sees /empty
 * where the directory contains a file system of the host's kernel. No cell has the host's /sys,
 * /tmp, /home or /run. The root is read-only, since a program that writes to it could fill the
 * host's memory.
 */
#include "backend/parts/cell_args.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/architecture.h"
#include "base/platform/linux/proc_stage.h"

/* The directory in /usr/lib that programs need, for each architecture of a host. On any other host
 * they need all of /usr/lib. */
static const char *const multiarch_dirs[ARCHITECTURE_COUNT] = {
	[ARCHITECTURE_AMD64] = "/usr/lib/x86_64-linux-gnu",
	[ARCHITECTURE_ARM64] = "/usr/lib/aarch64-linux-gnu",
};

const char *cell_libraries(void)
{
	enum architecture host = architecture_of_host();
	const char *dir = host < ARCHITECTURE_COUNT ? multiarch_dirs[host] : NULL;
	struct stat st;

	return dir && stat(dir, &st) == 0 ? dir : "/usr/lib";
}

static const char *const always[] = {"--as-pid-1", "--die-with-parent", "--new-session", NULL};
static const char *const all_namespaces[] = {"--unshare-all", NULL};
static const char *const no_user_namespace[] = {
	"--unshare-ipc",	"--unshare-pid", "--unshare-net", "--unshare-uts",
	"--unshare-cgroup-try", "--cap-drop",	 "ALL",		  NULL,
};

struct cell_numbers cell_numbers(const struct cell_spec *spec)
{
	int highest = 2;

	for (size_t i = 0; i < spec->nfds; i++)
		highest = spec->fds[i].to > highest ? spec->fds[i].to : highest;
	return (struct cell_numbers){.info = highest + 1,
				     .hold = highest + 2,
				     .filter = highest + 3,
				     .data = highest + 4};
}

static void add_bind(struct argv *argv, const char *option, const char *path)
{
	argv_add(argv, option);
	argv_add(argv, path);
	argv_add(argv, path);
}

/* Adds /lib or /lib64 to the cell. On a merged system the path is a link into /usr. On other
 * systems it is a separate directory. */
static void add_link_or_dir(struct argv *argv, const char *path)
{
	char target[256];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n <= 0) {
		add_bind(argv, "--ro-bind-try", path);
		return;
	}
	target[n] = '\0';
	argv_add(argv, "--symlink");
	argv_add(argv, target);
	argv_add(argv, path);
}

static void add_root(struct argv *argv, const struct cell_spec *spec)
{
	add_bind(argv, "--ro-bind", cell_libraries());
	add_bind(argv, "--ro-bind-try", "/usr/lib64");
	add_link_or_dir(argv, "/lib");
	add_link_or_dir(argv, "/lib64");
	if (spec->program)
		add_bind(argv, "--ro-bind", spec->program);
	for (const char *const *path = spec->readable; path && *path; path++)
		add_bind(argv, "--ro-bind-try", *path);
	if (!spec->share)
		add_bind(argv, "--dev-bind", "/dev/null");
	if (spec->device) {
		argv_add(argv, "--dev-bind");
		argv_add(argv, spec->device);
		argv_add(argv, "/dev/kvm");
	}
}

/* Adds the files of the stage. The process that spawns bwrap has made the stage. */
static void add_cell_files(struct argv *argv, const struct cell_spec *spec)
{
	char name[PROC_STAGE_NAME];

	for (size_t i = 0; i < spec->nfiles; i++) {
		proc_stage_name(i, name);
		argv_add(argv, spec->files[i].read_only ? "--ro-bind" : "--bind");
		argv_add(argv, name);
		argv_add(argv, spec->files[i].path);
	}
	if (!spec->tun)
		return;
	/* If the cell has its own user, the stage also has the device, after the files. */
	proc_stage_name(spec->nfiles, name);
	argv_add(argv, "--dev-bind");
	argv_add(argv, cell_id() ? name : CELL_TUN);
	argv_add(argv, CELL_TUN);
}

/* Returns true if only root may read this file of /proc. Such a file has information about the
 * whole host, as kpagecount does. */
static bool is_for_root_alone(int proc, const char *name)
{
	struct stat st;

	return fstatat(proc, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       !(st.st_mode & S_IROTH);
}

/* Covers each file of /proc that only root may read. The cover is a device node that cannot be
 * opened, since bwrap mounts it with nodev. */
static void hide_files_of_root(struct argv *argv, DIR *proc)
{
	const struct dirent *entry;

	while ((entry = readdir(proc))) {
		if (!is_for_root_alone(dirfd(proc), entry->d_name))
			continue;
		argv_add(argv, "--ro-bind");
		argv_add(argv, "/dev/null");
		argv_addf(argv, "/proc/%s", entry->d_name);
	}
}

/* Adds a read-only /proc. If this process is root, a program in the cell may run as the host's
 * root. Even without capabilities, such a program could change the kernel's settings in /proc, and
 * could read the files that only root may read. So /proc is read-only, and these files are hidden.
 * If they cannot be listed, the program gets no /proc, and fails. */
static void add_proc(struct argv *argv)
{
	DIR *proc = opendir("/proc");

	if (!proc)
		return;
	argv_add(argv, "--proc");
	argv_add(argv, "/proc");
	if (geteuid() == 0)
		hide_files_of_root(argv, proc);
	closedir(proc);
	argv_add(argv, "--remount-ro");
	argv_add(argv, "/proc");
}

void cell_arguments(const struct cell_spec *spec, struct argv *argv)
{
	struct cell_numbers numbers = cell_numbers(spec);

	argv_add(argv, spec->bwrap);
	/* If the caller has made a user namespace, bwrap makes no new user namespace. In a new user
	 * namespace the ids would not be mapped. */
	argv_add_list(argv, spec->capabilities ? no_user_namespace : all_namespaces);
	for (const char *const *name = spec->capabilities; name && *name; name++) {
		argv_add(argv, "--cap-add");
		argv_add(argv, *name);
	}
	argv_add_list(argv, always);
	if (!spec->capabilities) {
		argv_add(argv, "--info-fd");
		argv_addf(argv, "%d", numbers.info);
		argv_add(argv, "--block-fd");
		argv_addf(argv, "%d", numbers.hold);
	}
	if (spec->filter) {
		argv_add(argv, "--seccomp");
		argv_addf(argv, "%d", numbers.filter);
	}
	add_root(argv, spec);
	add_cell_files(argv, spec);
	if (spec->proc || spec->share)
		add_proc(argv);
	if (spec->share) {
		argv_add(argv, "--dir");
		argv_add(argv, "/empty");
		argv_add(argv, spec->share->read_only ? "--ro-bind" : "--bind");
		argv_add(argv, spec->share->from);
		argv_add(argv, spec->share->to);
	}
	for (size_t i = 0; i < spec->ndata; i++) {
		if (spec->data[i].executable) {
			argv_add(argv, "--perms");
			argv_add(argv, "0555");
		}
		argv_add(argv, "--ro-bind-data");
		argv_addf(argv, "%d", numbers.data + (int)i);
		argv_add(argv, spec->data[i].path);
	}
	for (const char *const *word = spec->environment; word && *word; word += 2) {
		argv_add(argv, "--setenv");
		argv_add(argv, word[0]);
		argv_add(argv, word[1]);
	}
	argv_add(argv, "--remount-ro");
	argv_add(argv, "/");
	argv_add(argv, "--chdir");
	argv_add(argv, "/");
	argv_add(argv, "--");
	argv_add_list(argv, spec->argv);
}
