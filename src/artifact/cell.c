/* SPDX-License-Identifier: MIT */
/*
 * Makes the cell of a tool. The root of the cell contains:
 *
 *   /usr and the links to it    programs, libraries and certificates
 *   some of /etc                the files that programs and libraries need; with the network also
 *                               names of hosts, and certificates
 *   settings of the user        if the caller wants them: which registries there are, and which
 *                               registries are trusted; with the network also the user's logins
 *   cell->source                the image
 *   WORK, TEMPORARY             the only two directories to which the tool can write
 *
 * bwrap accepts only paths, and follows links in these paths. Hostile programs may write to the two
 * writable directories. So this process opens each of these directories without following a link,
 * and mounts it on a stage (proc_stage.h). On the stage, no other process can replace a directory
 * before bwrap opens its path.
 *
 * The cell has no /proc, /sys, /run, /tmp or home. If root runs this program, the cell has no user
 * namespace: in a user namespace, files of other users would belong to nobody. The tool has none of
 * root's capabilities, with one exception: if the caller asks for it, the tool can read the files
 * of other users. A tool with the network never gets this capability. The allowed system calls are
 * in tool_calls.h.
 */
#include "artifact/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/tool_calls.h"
#include "base/argv.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/linux/proc_stage.h"
#include "base/platform/linux/userns.h"
#include "base/program.h"

#define NULL_DEVICE "/dev/null"
#define WORK "/microagent"
/* The path in the cell of the directory for large temporary files. skopeo always uses /var/tmp, and
 * ignores TMPDIR. */
#define TEMPORARY "/var/tmp"

static const char *const always[] = {
	"--unshare-ipc",
	"--unshare-pid",
	"--unshare-uts",
	"--unshare-cgroup-try",
	"--die-with-parent",
	"--new-session",
	"--cap-drop",
	"ALL",
	NULL,
};

/* Directories of programs and libraries. On a system with a merged /usr, each of these directories
 * is a link into /usr. */
static const char *const system_dirs[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
static const char *const system_files[] = {
	"/usr",
	"/etc/ld.so.cache",
	"/etc/localtime",
	"/etc/alternatives",
};

/* The files that a tool without the network may read from a directory of settings for containers.
 * Other files in such a directory can contain the user's passwords and keys for registries. */
static const char *const trust_files[] = {"policy.json", "registries.conf", "registries.conf.d",
					  "registries.d"};

/* The system files that a tool with the network may read. Of the directories for certificates, only
 * these are listed, because directories beside them contain keys. */
static const char *const network_files[] = {
	"/etc/resolv.conf",	    "/etc/hosts",
	"/etc/host.conf",	    "/etc/gai.conf",
	"/etc/nsswitch.conf",	    "/etc/ssl/certs",
	"/etc/ssl/cert.pem",	    "/etc/ssl/ca-bundle.pem",
	"/etc/ssl/openssl.cnf",	    "/etc/pki/ca-trust",
	"/etc/pki/tls/certs",	    "/etc/pki/tls/cert.pem",
	"/etc/pki/tls/openssl.cnf", "/etc/ca-certificates",
	"/etc/docker/certs.d",
};

/* The location of a user's settings: the path in the environment variable `variable` if it is set,
 * otherwise the path `home` below $HOME. In both cases, the path `below` is appended. */
struct user_file {
	const char *variable, *home, *below;
};

static const struct user_file user_containers = {"XDG_CONFIG_HOME", ".config", "/containers"};

/* The user's files that a tool with the network may read. */
static const struct user_file user_files[] = {
	{"XDG_RUNTIME_DIR", NULL, "/containers/auth.json"},
	{"DOCKER_CONFIG", ".docker", "/config.json"},
	{NULL, ".dockercfg", ""},
	{"REGISTRY_AUTH_FILE", NULL, ""},
	{"SSL_CERT_FILE", NULL, ""},
	{"SSL_CERT_DIR", NULL, ""},
};

static const char *const variables[] = {"PATH", "LANG", "LC_ALL", "TZ"};
static const char *const settings_variables[] = {"HOME", "XDG_CONFIG_HOME"};
static const char *const network_variables[] = {
	"XDG_RUNTIME_DIR", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "HTTP_PROXY",	 "HTTPS_PROXY",
	"NO_PROXY",	   "ALL_PROXY",	    "http_proxy",	  "https_proxy", "no_proxy",
	"all_proxy",	   "SSL_CERT_DIR",  "SSL_CERT_FILE",
};

static void show_path(struct argv *argv, const char *path)
{
	argv_add(argv, "--ro-bind-try");
	argv_add(argv, path);
	argv_add(argv, path);
}

static void show_paths(struct argv *argv, const char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		show_path(argv, paths[i]);
}

static void show_system(struct argv *argv)
{
	show_paths(argv, system_files, ARRAY_SIZE(system_files));
	for (size_t i = 0; i < ARRAY_SIZE(system_dirs); i++) {
		char target[256];
		ssize_t n = readlink(system_dirs[i], target, sizeof(target) - 1);

		if (n <= 0) {
			show_path(argv, system_dirs[i]);
			continue;
		}
		target[n] = '\0';
		argv_add(argv, "--symlink");
		argv_add(argv, target);
		argv_add(argv, system_dirs[i]);
	}
}

/* Shows a setting in the cell. Leaves out a file that the user cannot read, because bwrap would
 * fail to make a cell with such a file. */
static void show_setting(struct argv *argv, const char *path)
{
	if (*path == '/' && access(path, R_OK) == 0)
		show_path(argv, path);
}

/* Writes the path of a user's settings to `path`, or "" if neither the variable nor $HOME gives a
 * path. */
static void user_file_path(const struct user_file *file, char *path, size_t size)
{
	const char *named = file->variable ? getenv(file->variable) : NULL;
	const char *home = getenv("HOME");

	*path = '\0';
	if (named && *named)
		snprintf(path, size, "%s%s", named, file->below);
	else if (home && file->home)
		snprintf(path, size, "%s/%s%s", home, file->home, file->below);
}

/* Shows the settings for containers in `dir`. A tool with the network sees all files in `dir`, any
 * other tool only those in trust_files. */
static void show_containers(struct argv *argv, const char *dir, bool network)
{
	char path[4096 + 32];

	if (network) {
		show_setting(argv, dir);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(trust_files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, trust_files[i]);
		show_setting(argv, path);
	}
}

static void show_settings(struct argv *argv, bool network)
{
	char path[4096];

	show_containers(argv, "/etc/containers", network);
	user_file_path(&user_containers, path, sizeof(path));
	show_containers(argv, path, network);
	if (!network)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(user_files); i++) {
		user_file_path(&user_files[i], path, sizeof(path));
		show_setting(argv, path);
	}
	/* This file has the user's passwords for registries if XDG_RUNTIME_DIR is not set. */
	snprintf(path, sizeof(path), "/run/containers/%u/auth.json", (unsigned)getuid());
	show_setting(argv, path);
}

/* The numbers of the items on the stage. */
enum { STAGED_OUT, STAGED_TEMPORARY, STAGED_NULL };

static void show_staged(struct argv *argv, const char *option, size_t item)
{
	char name[PROC_STAGE_NAME];

	proc_stage_name(item, name);
	argv_add(argv, option);
	argv_add(argv, name);
}

/* Returns true if root runs this program and this process may make namespaces. In a container, root
 * may lack the capability to make them. */
static bool may_make_namespaces(void)
{
	return geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 1;
}

/* Returns true if the program is in one of system_dirs, which the cell always shows. Such a program
 * is not mounted again: bwrap would fail if a component of its path is a link. */
static bool is_of_system(const char *program)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_dirs); i++) {
		const size_t len = strlen(system_dirs[i]);

		if (strncmp(program, system_dirs[i], len) == 0 && program[len] == '/')
			return true;
	}
	return strncmp(program, "/usr/", 5) == 0;
}

static void cell_words(struct argv *argv, const struct tool_cell *cell, const struct tool *tool,
		       const char *bwrap, const char *program)
{
	const bool root = may_make_namespaces();

	argv_add(argv, bwrap);
	argv_add_list(argv, always);
	if (!root)
		argv_add(argv, "--unshare-user");
	if (!cell->network)
		argv_add(argv, "--unshare-net");
	if (!cell->network && root && cell->settings) {
		argv_add(argv, "--cap-add");
		argv_add(argv, "CAP_DAC_OVERRIDE");
	}
	/* The first process in the cell is one of bwrap, and it holds the lock. The tool does not
	 * get the lock's descriptor, because with it the tool could release the lock. */
	if (tool->hold > 0) {
		argv_add(argv, "--sync-fd");
		argv_addf(argv, "%d", TOOL_HOLD_FD);
	}
	argv_add(argv, "--seccomp");
	argv_addf(argv, "%d", TOOL_FILTER_FD);
	show_system(argv);
	if (!is_of_system(program))
		show_path(argv, program);
	if (cell->source)
		show_path(argv, cell->source);
	if (cell->settings)
		show_settings(argv, cell->network);
	if (cell->network)
		show_paths(argv, network_files, ARRAY_SIZE(network_files));
	show_staged(argv, "--bind", STAGED_OUT);
	argv_addf(argv, WORK "/%s", cell->out);
	show_staged(argv, "--bind", STAGED_TEMPORARY);
	argv_add(argv, TEMPORARY);
	/* Programs need the null device for output that nobody wants. The null device is mounted
	 * read-only, because otherwise a tool that root runs could change the mode of the host's
	 * device (proc_stage_add()). */
	show_staged(argv, "--dev-bind", STAGED_NULL);
	argv_add(argv, NULL_DEVICE);
	if (cell->link && cell->source) {
		argv_add(argv, "--symlink");
		argv_add(argv, cell->source);
		argv_addf(argv, WORK "/%s", cell->link);
	}
	argv_add(argv, "--remount-ro");
	argv_add(argv, "/");
	argv_add(argv, "--chdir");
	argv_add(argv, WORK);
	argv_add(argv, "--");
	argv_add(argv, program);
}

/* --- running --------------------------------------------------------------------------------- */

static bool has_variable(const struct tool *tool, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; tool->env && tool->env[i]; i++)
		if (strncmp(tool->env[i], name, len) == 0 && tool->env[i][len] == '=')
			return true;
	return false;
}

static void add_variables(struct argv *out, const struct tool *tool, const char *const *names,
			  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = getenv(names[i]);

		if (value && !has_variable(tool, names[i]))
			argv_addf(out, "%s=%s", names[i], value);
	}
}

static int stage_directory(struct proc_stage *stage, int dir, const char *name, struct error *err)
{
	autoclose int fd = path_open_dir_at(dir, name, false, 0, err);

	return fd < 0 ? -1 : proc_stage_add(stage, fd, false, 0, err);
}

static int set_work_stage(const struct tool_cell *cell, struct proc_stage *stage, struct error *err)
{
	autoclose int dir = open(cell->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return error_errno(err, errno, "%s", cell->dir);
	if (stage_directory(stage, dir, cell->out, err) < 0 ||
	    stage_directory(stage, dir, cell->temporary, err) < 0)
		return -1;
	autoclose int null = open(NULL_DEVICE, O_PATH | O_CLOEXEC);
	if (null < 0)
		return error_errno(err, errno, NULL_DEVICE);
	if (proc_stage_add(stage, null, true, 0, err) < 0)
		return -1;
	stage->with_user = !may_make_namespaces();
	return 0;
}

static int run_in_cell(const struct tool_cell *cell, const char *bwrap, const struct tool *tool,
		       struct error *err)
{
	__attribute__((cleanup(proc_stage_free))) struct proc_stage stage = {0};
	autofree char *program = program_in_path(tool->argv[0]);
	autoargv struct argv words = ARGV_INIT, env = ARGV_INIT;
	autoclose int filter = -1;
	struct tool there = *tool;

	if (!program)
		return error_set(err, ERR_NOT_FOUND,
				 "the program %s is needed, and is not in PATH: install it",
				 tool->argv[0]);
	if (set_work_stage(cell, &stage, err) < 0 ||
	    tool_calls_filter(cell->network ? TOOL_CALLS_NETWORK : TOOL_CALLS_CELL, &filter, err) <
		    0)
		return -1;
	cell_words(&words, cell, tool, bwrap, program);
	argv_add_list(&words, tool->argv + 1);
	/* The environment of this process may contain the user's secrets, so the tool gets only the
	 * listed variables. */
	argv_add(&env, "TMPDIR=" TEMPORARY);
	if (tool->env)
		argv_add_list(&env, tool->env);
	add_variables(&env, tool, variables, ARRAY_SIZE(variables));
	if (cell->settings)
		add_variables(&env, tool, settings_variables, ARRAY_SIZE(settings_variables));
	if (cell->settings && cell->network)
		add_variables(&env, tool, network_variables, ARRAY_SIZE(network_variables));
	there.stage = &stage;
	there.filter = filter;
	there.name = tool->name ? tool->name : tool->argv[0];
	there.argv = argv_finish(&words, err);
	there.env = argv_finish(&env, err);
	there.lone_env = true;
	there.sealed = true;
	return there.argv && there.env ? tool_run(&there, err) : -1;
}

/* Runs the tool without a cell. TMPDIR is the directory for temporary files, where skopeo unpacks
 * an archive before reading it. */
static int run_unconfined(const struct tool_cell *cell, const struct tool *tool, struct error *err)
{
	autoargv struct argv env = ARGV_INIT;
	struct tool bare = *tool;

	argv_addf(&env, "TMPDIR=%s/%s", cell->dir, cell->temporary);
	if (tool->env)
		argv_add_list(&env, tool->env);
	bare.env = argv_finish(&env, err);
	bare.cwd = cell->dir;
	return bare.env ? tool_run(&bare, err) : -1;
}

/* Finds out, by running `true` in a cell, whether the tool failed because this host cannot make a
 * cell. If so, returns true with err set. The namespaces of the stage are made first, because bwrap
 * makes its namespaces inside them. */
static bool is_without_cell(const struct tool_cell *cell, const char *bwrap, struct error *err)
{
	static const char *const argv[] = {"true", NULL};
	autobuf struct buf said = BUF_INIT(4096);
	const struct tool tool = {.name = "bwrap", .argv = argv, .errors = &said};
	struct error why = {0};

	if (run_in_cell(cell, bwrap, &tool, &why) == 0)
		return false;
	if (why.errnum == EPERM || why.errnum == EACCES || why.errnum == ENOSPC ||
	    why.errnum == EUSERS)
		userns_missing(&why, err);
	else if (why.code == ERR_IO)
		userns_refused(buf_string(&said), err);
	else
		return false;
	return true;
}

static int run_either_way(const struct tool_cell *cell, const struct tool *tool, struct error *err)
{
	autofree char *bwrap = NULL;
	struct error why = {0};

	if (cell->unconfined)
		return run_unconfined(cell, tool, err);
	bwrap = program_in_path("bwrap");
	if (bwrap && run_in_cell(cell, bwrap, tool, &why) == 0)
		return 0;
	if (!bwrap)
		error_set(&why, ERR_UNAVAILABLE,
			  "bwrap is not installed: apt-get install bubblewrap");
	if (!bwrap || (artifact_check_signal(NULL) == 0 && is_without_cell(cell, bwrap, &why)))
		error_reason(&why, REASON_NO_CELL, "");
	if (cell->vouched && why.reason == REASON_NO_CELL)
		return run_unconfined(cell, tool, err);
	return error_copy(err, &why);
}

int cell_run(const struct tool_cell *cell, const struct tool *tool, struct error *err)
{
	struct tool bounded = *tool;

	if (!cell->room)
		return run_either_way(cell, tool, err);
	autoclose int dir = path_open_dir(cell->dir, err);
	autoclose int out = dir < 0 ? -1 : path_open_dir_at(dir, cell->out, false, 0, err);
	autoclose int temporary =
		out < 0 ? -1 : path_open_dir_at(dir, cell->temporary, false, 0, err);
	if (temporary < 0)
		return -1;
	const struct tool_room room = {.bytes = cell->room, .dirs = {out, temporary}};
	bounded.room = &room;
	return run_either_way(cell, &bounded, err);
}
