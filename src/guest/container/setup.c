/* SPDX-License-Identifier: MIT */
/*
 * Sets up a container. The order of the steps is the same as in runc, since images and engines
 * expect what runc does.
 *
 * First the root is bind mounted on itself, so that it is a mount point. If the plan has an
 * overlay, the overlay is mounted over the root (overlay.c). Then the mounts of the plan are made.
 * Their paths are resolved within the container's root (place.h). Then the devices are created.
 * Then the container's root becomes "/", and the guest's root is unmounted. After that come the
 * sysctls, the host name and domain name, the read-only paths and the masked paths.
 *
 * The guest's root may be the initramfs, which pivot_root(2) cannot replace. In that case the new
 * root is moved over the initramfs, as switch_root(8) does, and the guest's mounts in the initramfs
 * are removed.
 */
#include "guest/container/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "guest/container/place.h"

/* The flags of a bind mount that need no second call of mount(2). The call that makes the bind
 * mount ignores all other flags, so these need a remount. */
#define NO_BIND_FLAGS (MS_BIND | MS_REC | MS_REMOUNT)

static int set_propagation(int root, const struct contained_mount *m, struct error *err)
{
	autoclose int place = m->propagation ? place_open(root, m->destination, err) : -1;
	char name[PLACE_NAME];

	if (!m->propagation)
		return 0;
	if (place < 0)
		return -1;
	place_name(place, name);
	return mount(NULL, name, NULL, m->propagation, NULL) == 0
		       ? 0
		       : error_errno(err, errno, "%.300s", m->destination);
}

static int mount_bound(int root, const struct contained_mount *m, struct error *err)
{
	unsigned long flags = m->flags & ~(unsigned long)NO_BIND_FLAGS;
	struct stat st;
	char name[PLACE_NAME];

	if (!m->source || stat(m->source, &st) < 0)
		return error_errno(err, m->source ? errno : EINVAL, "source of %.300s",
				   m->destination);
	autoclose int place = place_make(root, m->destination, !S_ISDIR(st.st_mode), err);
	if (place < 0)
		return -1;
	place_name(place, name);
	if (mount(m->source, name, NULL, MS_BIND | (m->flags & MS_REC), NULL) < 0)
		return error_errno(err, errno, "cannot mount %.300s", m->destination);
	if (!flags)
		return 0;
	autoclose int mounted = place_open(root, m->destination, err);
	if (mounted < 0)
		return -1;
	place_name(mounted, name);
	if (mount(NULL, name, NULL, MS_REMOUNT | MS_BIND | flags, NULL) < 0)
		return error_errno(err, errno, "cannot remount %.300s", m->destination);
	return 0;
}

static int mount_plan(int root, const struct contained_mount *m, struct error *err)
{
	const char *type = m->type ? m->type : "none", *data = m->data && *m->data ? m->data : NULL;
	char name[PLACE_NAME];

	if (m->flags & MS_BIND)
		return mount_bound(root, m, err) < 0 ? -1 : set_propagation(root, m, err);
	autoclose int place = place_make(root, m->destination, false, err);
	if (place < 0)
		return -1;
	place_name(place, name);
	if (mount(m->source ? m->source : type, name, type, m->flags, data) < 0)
		return error_errno(err, errno, "cannot mount %.64s on %.300s", type,
				   m->destination);
	return set_propagation(root, m, err);
}

/* --- the root -------------------------------------------------------------------------------- */

static int open_uppermost(const char *path, struct error *err)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : error_errno(err, errno, "%.300s", path);
}

/* Makes the guest's mounts private, bind mounts the container's root on itself, and mounts the
 * overlay if the plan has one. Then opens the root. */
static int open_root(const struct contained_plan *plan, struct error *err)
{
	const char *path = plan->root;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_errno(err, errno, "propagation of the guest's mounts");
	if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) < 0)
		return error_errno(err, errno, "root of the container %.300s", path);
	autoclose int root = open_uppermost(path, err);
	if (root < 0 || !plan->overlay)
		return steal_fd(&root);
	return overlay_lay(plan, root, err) < 0 ? -1 : open_uppermost(path, err);
}

static int change_root(int root, struct error *err)
{
	static const char *const guests[] = {"/proc", "/sys", "/dev", "/run"};

	if (fchdir(root) < 0)
		return error_errno(err, errno, "root of the container");
	if (syscall(SYS_pivot_root, ".", ".") == 0) {
		/* pivot_root() has mounted the guest's root over the new root, and this call
		 * unmounts it. */
		if (umount2(".", MNT_DETACH) < 0)
			return error_errno(err, errno, "the guest's root");
	} else {
		if (errno != EINVAL || mount(".", "/", NULL, MS_MOVE, NULL) < 0)
			return error_errno(err, errno, "root of the container");
		/* Unmounts the guest's mounts in the old root. A process that escapes from the
		 * container's root to the old root then finds none of these file systems. */
		for (size_t i = 0; i < ARRAY_SIZE(guests); i++)
			(void)umount2(guests[i], MNT_DETACH);
		if (chroot(".") < 0)
			return error_errno(err, errno, "root of the container");
	}
	return chdir("/") == 0 ? 0 : error_errno(err, errno, "root of the container");
}

/* --- from within ----------------------------------------------------------------------------- */

static int set_sysctls(json_t *sysctl, struct error *err)
{
	static const char front[] = "/proc/sys/";
	const char *key;
	json_t *item;

	json_object_foreach(sysctl, key, item)
	{
		const char *value = json_string_value(item);
		char path[512];

		snprintf(path, sizeof(path), "%s%s", front, key);
		for (char *c = path + strlen(front); *c; c++)
			*c = *c == '.' ? '/' : *c;
		autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, value, strlen(value)) < 0)
			return error_errno(err, errno, "sysctl %.200s", key);
	}
	return 0;
}

/* Returns the flags that the mount at `path` has now, as MS_... flags. A remount clears every flag
 * that it does not repeat. */
static unsigned long flags_of(const char *path)
{
	static const struct {
		unsigned long has, flag;
	} map[] = {{ST_NOSUID, MS_NOSUID},	   {ST_NODEV, MS_NODEV},
		   {ST_NOEXEC, MS_NOEXEC},	   {ST_NOATIME, MS_NOATIME},
		   {ST_NODIRATIME, MS_NODIRATIME}, {ST_RELATIME, MS_RELATIME}};
	struct statvfs fs;
	unsigned long flags = 0;

	if (statvfs(path, &fs) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(map); i++)
		if (fs.f_flag & map[i].has)
			flags |= map[i].flag;
	return flags;
}

/* Bind mounts /dev/null over a file. Fails if /dev/null does not have the numbers of the null
 * device, since the image may have a link to another file at this path. */
static int cover_file(const char *path, struct error *err)
{
	autoclose int null = open("/dev/null", O_PATH | O_CLOEXEC);
	struct stat st;

	if (null < 0 || fstat(null, &st) < 0)
		return error_errno(err, errno, "cannot mask %.300s: /dev/null", path);
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
		return error_set(
			err, ERR_INVALID,
			"cannot mask %.300s, because /dev/null of the container is not the null device: leave /dev/null as the container's manager makes it",
			path);
	autoclose int tree =
		open_tree(null, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0 || move_mount(tree, "", AT_FDCWD, path,
				   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS) < 0)
		return error_errno(err, errno, "cannot mask %.300s", path);
	return 0;
}

static int mask(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "cannot mask %.300s", path);
	if (!S_ISDIR(st.st_mode))
		return cover_file(path, err);
	return mount("tmpfs", path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
		     "size=0,nr_inodes=1") == 0
		       ? 0
		       : error_errno(err, errno, "cannot mask %.300s", path);
}

static int close_down(const struct contained_plan *plan, struct error *err)
{
	for (const char **path = plan->read_only_paths; *path; path++) {
		if (mount(*path, *path, NULL, MS_BIND | MS_REC, NULL) < 0) {
			if (errno == ENOENT)
				continue;
			return error_errno(err, errno, "%.300s", *path);
		}
		if (mount(NULL, *path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags_of(*path),
			  NULL) < 0)
			return error_errno(err, errno, "cannot make %.300s read-only", *path);
	}
	for (const char **path = plan->masked; *path; path++)
		if (mask(*path, err) < 0)
			return -1;
	if (plan->read_only &&
	    mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags_of("/"), NULL) < 0)
		return error_errno(err, errno, "cannot make the root read-only");
	return 0;
}

int setup_container(const struct contained_plan *plan, struct error *err)
{
	autoclose int root = open_root(plan, err);

	if (root < 0)
		return -1;
	for (size_t i = 0; i < plan->nmounts; i++)
		if (mount_plan(root, &plan->mounts[i], err) < 0)
			return -1;
	if (devices_make(root, err) < 0 || change_root(root, err) < 0 ||
	    set_sysctls(plan->sysctl, err) < 0)
		return -1;
	if (plan->hostname && sethostname(plan->hostname, strlen(plan->hostname)) < 0)
		return error_errno(err, errno, "hostname");
	if (plan->domainname && setdomainname(plan->domainname, strlen(plan->domainname)) < 0)
		return error_errno(err, errno, "domainname");
	return close_down(plan, err);
}
