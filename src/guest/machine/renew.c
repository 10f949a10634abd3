/* SPDX-License-Identifier: MIT */
#include "guest/machine/renew.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/process.h"
#include "base/proc.h"
#include "guest/console.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
/* A file in memory that has the new boot id, and is bind mounted over the kernel's file. */
#define BOOT_ID_FILE "/run/microagent-boot-id"
/* The lengths of a boot id and of a machine id in bytes, including the newline. */
#define BOOT_ID_BYTES 37
#define MACHINE_ID_BYTES 33
#define SSH_DIRECTORY "etc/ssh"
#define SSH_KEYGEN "/usr/bin/ssh-keygen"
#define SSH_KEY "/etc/ssh/ssh_host_ed25519_key"
#define SSHD_PID_FILE "/run/sshd.pid"

/* --- the kernel ------------------------------------------------------------------------------ */

/* Mixes new random numbers into the kernel's pool, and makes the kernel derive a new key from the
 * pool at once. With its old key, the kernel would give the same random numbers in all machines
 * that are restored from the same template. */
static int reseed_kernel(const uint8_t bytes[RENEW_ENTROPY], struct error *err)
{
	struct {
		int entropy_bits, size;
		uint8_t bytes[RENEW_ENTROPY];
	} pool = {.entropy_bits = RENEW_ENTROPY * 8, .size = RENEW_ENTROPY};
	autoclose int fd = open("/dev/random", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	memcpy(pool.bytes, bytes, RENEW_ENTROPY);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG, 0) < 0)
		return error_errno(err, errno, "cannot renew the kernel's random numbers");
	return 0;
}

/* Bind mounts a file in memory over the kernel's file with the boot id, since the kernel's boot id
 * cannot be changed. */
static int cover_boot_id(const char *line, struct error *err)
{
	autoclose int fd =
		open(BOOT_ID_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0444);

	if (fd < 0 || write(fd, line, BOOT_ID_BYTES) != BOOT_ID_BYTES ||
	    mount(BOOT_ID_FILE, BOOT_ID, NULL, MS_BIND, NULL) < 0)
		return error_errno(err, errno, "cannot mount a file over the boot id");
	return 0;
}

/* Opens the file that is mounted over the kernel's file with the boot id, for writing. Fails if no
 * file is mounted there, since the kernel's own file cannot be opened for writing. */
static int open_covered_boot_id(void)
{
	return open(BOOT_ID, O_WRONLY | O_CLOEXEC);
}

static int renew_boot_id(const char *id, struct error *err)
{
	char line[BOOT_ID_BYTES + 1];
	autoclose int fd = open_covered_boot_id();

	snprintf(line, sizeof(line), "%s\n", id);
	if (fd < 0)
		return cover_boot_id(line, err);
	if (pwrite(fd, line, BOOT_ID_BYTES, 0) != BOOT_ID_BYTES)
		return error_errno(err, errno, "cannot renew the boot id");
	return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

static bool is_not_there(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR;
}

/* Writes the machine id into the existing file, which works even if the disk is full. Does nothing
 * if `path` is a symbolic link, since this function is also called for the target of the link. Does
 * nothing if the file is empty, since it has no machine id yet. */
static int write_machine_id(int root, const char *path, const char *id, struct error *err)
{
	char line[MACHINE_ID_BYTES + 1];
	autoclose int fd =
		openat(root, path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && (is_not_there(errno) || errno == ELOOP || errno == ENXIO || errno == EISDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "cannot renew /%s", path);
	if (!S_ISREG(st.st_mode) || st.st_size < MACHINE_ID_BYTES - 1)
		return 0;
	snprintf(line, sizeof(line), "%s\n", id);
	if (pwrite(fd, line, MACHINE_ID_BYTES, 0) != MACHINE_ID_BYTES ||
	    (st.st_size > MACHINE_ID_BYTES && ftruncate(fd, MACHINE_ID_BYTES) < 0))
		return error_errno(err, errno, "cannot renew /%s", path);
	return 0;
}

static int drop_file(int directory, const char *path, struct error *err)
{
	if (unlinkat(directory, path, 0) < 0 && !is_not_there(errno))
		return error_errno(err, errno, "cannot remove %s", path);
	return 0;
}

/* Removes the files with seeds for random numbers. Machines of one template would otherwise use the
 * same seeds at a later boot. */
int renew_drop_seeds(int root, struct error *err)
{
	static const char *const seeds[] = {
		"var/lib/systemd/random-seed", "var/lib/urandom/random-seed",
		"var/lib/random-seed",	       "var/lib/misc/random-seed",
		"var/lib/seedrng/seed.credit", "var/lib/seedrng/seed.no-credit",
	};

	for (size_t i = 0; i < ARRAY_SIZE(seeds); i++)
		if (drop_file(root, seeds[i], err) < 0)
			return -1;
	return 0;
}

int renew_ids(int root, const char *machine_id, struct error *err)
{
	return write_machine_id(root, "etc/machine-id", machine_id, err) < 0
		       ? -1
		       : write_machine_id(root, "var/lib/dbus/machine-id", machine_id, err);
}

/* --- host keys of ssh ------------------------------------------------------------------------ */

static bool is_host_key(const char *name)
{
	static const char front[] = "ssh_host_";

	return strncmp(name, front, sizeof(front) - 1) == 0 && strstr(name, "_key");
}

static DIR *open_ssh_directory(int root)
{
	int fd = openat(root, SSH_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static bool has_host_keys(int root)
{
	autodir DIR *dir = open_ssh_directory(root);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (is_host_key(e->d_name))
			return true;
	return false;
}

int renew_drop_host_keys(int root, bool *any, struct error *err)
{
	autodir DIR *dir = open_ssh_directory(root);
	const struct dirent *e;

	*any = false;
	while (dir && (e = readdir(dir))) {
		if (!is_host_key(e->d_name))
			continue;
		*any = true;
		if (drop_file(dirfd(dir), e->d_name, err) < 0)
			return error_prefix(err, "/" SSH_DIRECTORY);
	}
	return 0;
}

/* Sends SIGHUP to a running sshd, so that it reads its host keys again. */
static void tell_sshd(void)
{
	char text[32] = "", path[64], name[8] = "";
	long pid;
	autoclose int file = open(SSHD_PID_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (file < 0 || read(file, text, sizeof(text) - 1) <= 0)
		return;
	pid = strtol(text, NULL, 10);
	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	autoclose int comm = open(path, O_RDONLY | O_CLOEXEC);
	if (pid > 1 && comm >= 0 && read(comm, name, sizeof(name) - 1) > 0 &&
	    strcmp(name, "sshd\n") == 0)
		kill((pid_t)pid, SIGHUP);
}

int renew_host_keys(struct error *err)
{
	static const char *const argv[] = {SSH_KEYGEN, "-q", "-t", "ed25519", "-N", "",
					   "-C",       "",   "-f", SSH_KEY,   NULL};
	autoclose int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autobuf struct buf said = {0};
	struct error why = {0};
	bool any;

	if (root < 0)
		return error_errno(err, errno, "/");
	if (renew_drop_host_keys(root, &any, err) < 0)
		return -1;
	/* A failure is only reported. A machine without a host key is useful, and does not share a
	 * key with other machines of the same template. */
	if (any && proc_run(argv, &said, limit_deadline(LIMIT_GUEST_SSH_KEY_MS), &why) < 0)
		console_line("no host key for ssh: %s", why.msg);
	else if (any)
		tell_sshd();
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

int renew_machine(const struct config_renew *renew, bool *more, struct error *err)
{
	autoclose int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return error_errno(err, errno, "/");
	if (reseed_kernel(renew->entropy, err) < 0 || renew_boot_id(renew->boot_id, err) < 0 ||
	    renew_ids(root, renew->machine_id, err) < 0)
		return -1;
	*more = has_host_keys(root);
	return 0;
}

int renew_prepare(struct error *err)
{
	autoclose int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char id[37], line[BOOT_ID_BYTES + 1];

	if (root < 0)
		return error_errno(err, errno, "/");
	/* Mounts a file with the same contents over the kernel's file with the boot id. Does
	 * nothing if a file is mounted there already. */
	autoclose int covered = open_covered_boot_id();
	if (covered < 0) {
		if (process_boot_id(id, err) < 0)
			return -1;
		snprintf(line, sizeof(line), "%s\n", id);
		if (cover_boot_id(line, err) < 0)
			return -1;
	}
	return renew_drop_seeds(root, err);
}
