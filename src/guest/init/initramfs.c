/* SPDX-License-Identifier: MIT */
/*
 * The program in the initramfs. The initramfs also has a kernel's modules and empty directories.
 * The only task of the program is to mount the root file system. The root file system may be any
 * ext4, on the disk whose serial number is "rootfs". This program needs no file of the root file
 * system. A program of the root file system runs as root only if the host asks for it.
 *
 * If RAM_ROOT is on the kernel's command line, the initramfs itself is the root file system. The
 * host has then made the initramfs from the files of an image, which come first, and the files of
 * microagent. The files of microagent are removed after use, since they use memory.
 */
#include "guest/init/initramfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/module.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "guest/console.h"
#include "guest/init/blockdev.h"
#include "guest/init/kernel_line.h"
#include "guest/init/mounts.h"
#include "guest/roles.h"

#define ROOT_SERIAL "rootfs"
#define NEW_ROOT "/newroot"
#define MODULES_LIST "/modules.list"
#define RAM_ROOT "microagent.root=ram"

/* A mount option that stops ext4 from reading bitmaps in the background. Since Linux 5.13, ext4
 * reads the bitmaps of all block groups after a mount. These bitmaps would use memory of each
 * session that is restored from a template, because sessions cannot share this memory. */
#define NO_PREFETCH "no_prefetch_block_bitmaps"

#ifndef MODULE_INIT_COMPRESSED_FILE
#define MODULE_INIT_COMPRESSED_FILE 4
#endif

static int mount_root_disk(const char *where, unsigned long flags, const char *options,
			   struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_ROOT_DISK_MS);
	char name[BLOCKDEV_NAME], path[BLOCKDEV_NAME + 8], quiet[64];
	int got;

	if (blockdev_find("/sys", ROOT_SERIAL, deadline, name, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "/dev/%s", name);
	mkdir(where, 0755);
	snprintf(quiet, sizeof(quiet), "%s,%s", options, NO_PREFETCH);
	got = mount(path, where, "ext4", flags, quiet);
	if (got < 0 && errno == EINVAL)
		got = mount(path, where, "ext4", flags, options);
	if (got < 0)
		return error_errno(err, errno,
				   "cannot mount the root disk %s (serial \"%s\") as ext4", path,
				   ROOT_SERIAL);
	return 0;
}

/* Loads the kernel modules whose paths are in the list, in the order of the list. The list has one
 * path in each line. Removes the file of each module after it was loaded, which frees memory of the
 * initramfs. Ignores that the list or a file is missing, and that a module is built in. Prints any
 * other failure on the console. Code that needs such a module fails later. */
static void load_modules(void)
{
	autofile FILE *file = fopen(MODULES_LIST, "re");
	autofree char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (!line[0] || line[0] == '#')
			continue;
		size_t len = strlen(line);
		bool plain = len > 3 && strcmp(line + len - 3, ".ko") == 0;
		autoclose int fd = open(line, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (syscall(SYS_finit_module, fd, "", plain ? 0 : MODULE_INIT_COMPRESSED_FILE) <
			    0 &&
		    errno != EEXIST)
			console_line("module %s: %s", line, strerror(errno));
		unlink(line);
	}
}

/* Removes the list of modules, and the module files that still exist, since these files are not
 * needed after the modules were loaded. */
static void drop_modules(void)
{
	autofile FILE *file = fopen(MODULES_LIST, "re");
	autofree char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		unlink(line);
	}
	unlink(MODULES_LIST);
}

/* Fails if well-known programs of the root file system are for another architecture. Otherwise each
 * command would fail with an error that does not say why. The host does not read file systems, so
 * it cannot check an image that a user has given by its path. */
static int check_root_programs(struct error *err)
{
	static const char *const programs[] = {"/bin/sh", "/sbin/init", "/usr/bin/env"};
	enum architecture machine = architecture_of_host(), has;
	char head[64]; /* the beginning of the program's file, with the ELF header */

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		autoclose int fd = open(programs[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));

		has = n > 0 ? architecture_of_program(head, (size_t)n) : ARCHITECTURE_COUNT;
		if (has != ARCHITECTURE_COUNT && has != machine)
			return error_set(
				err, ERR_UNSUPPORTED,
				"%s in the guest's root file system is a program for %s, and the machine is %s: use an image for the architecture of the machine",
				programs[i], architecture_name(has), architecture_name(machine));
	}
	return 0;
}

/*
 * Opens the file of this program through a separate read-only mount that has no mount point. The
 * agent and all other roles are executed from this file descriptor.
 *
 * An image can make the agent execute /proc/self/exe in a container, and the container then can
 * open the program's file (CVE-2019-5736 of runc). Because the mount is read-only, the container
 * can change neither the file nor its mode. Kernels before 5.12 do not have mount_setattr(). With
 * such a kernel the function prints a line on the console, and opens the file without the mount.
 */
static int open_program(struct error *err)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
	autoclose int self = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	if (self < 0)
		return error_errno(err, errno, "/proc/self/exe");
	autoclose int mounted =
		open_tree(self, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (mounted >= 0 &&
	    mount_setattr(mounted, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) == 0)
		return steal_fd(&mounted);
	console_line("the agent's program could not be put on a read-only mount: %s",
		     strerror(errno));
	return steal_fd(&self);
}

/* Mounts the early file systems, opens this program and loads the modules. This function is the
 * first step of initramfs_leave() and of initramfs_stay(). Sets *self to a file descriptor of this
 * program, which the caller closes. */
static int enter_disk(int *self, struct error *err)
{
	umask(022);
	if (mounts_early(err) < 0)
		return -1;
	*self = open_program(err);
	if (*self < 0)
		return -1;
	load_modules();
	return mounts_console(err);
}

int initramfs_leave(int *program_fd, struct error *err)
{
	autoclose int self = -1;

	if (enter_disk(&self, err) < 0)
		return -1;
	if (kernel_line_says(RAM_ROOT)) {
		drop_modules();
		mounts_early_end();
	} else {
		/* A file system that was grown has inode tables that are not initialized. With
		 * noinit_itable, ext4 does not write zeros to these tables in the background. The
		 * zeros would use space on the host, although no file needs that part of the
		 * disk. */
		if (mount_root_disk(NEW_ROOT, 0, "noinit_itable", err) < 0)
			return -1;
		mounts_early_end();
		if (chdir(NEW_ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 ||
		    chroot(".") < 0 || chdir("/") < 0)
			return error_errno(err, errno, "cannot switch to the root file system");
	}
	if (check_root_programs(err) < 0)
		return -1;
	mounts_root();
	*program_fd = steal_fd(&self);
	return 0;
}

int initramfs_stay(int *program_fd, struct error *err)
{
	/* An error of the file system must not cause a panic of the kernel, even if the image has
	 * that setting. */
	static const char options[] = "errors=remount-ro";
	autoclose int self = -1;

	if (enter_disk(&self, err) < 0 ||
	    mount_root_disk(READER_ROOT, MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME, options,
			    err) < 0)
		return -1;
	setenv(READER_ENVIRONMENT, "1", 1);
	*program_fd = steal_fd(&self);
	return 0;
}
