/* SPDX-License-Identifier: MIT */
#include "base/platform/linux/proc_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/linux/userns_held.h"

/* The options of the tmpfs of the stage. The size of the tmpfs is enough for the directory itself
 * and for the mount points of all items. */
#define STAGE_OPTIONS "mode=0755,size=64k"

/* --- a mapped owner --------------------------------------------------------------------------- */

struct renaming {
	const struct stat *st;
	uid_t owner;
};

static int write_owner(pid_t pid, const void *data, struct error *err)
{
	const struct renaming *r = data;
	char lines[32];

	snprintf(lines, sizeof(lines), "%u %u 1\n", r->st->st_uid, r->owner);
	if (userns_write_map(pid, "uid_map", lines, err) < 0)
		return -1;
	snprintf(lines, sizeof(lines), "%u %u 1\n", r->st->st_gid, r->owner);
	return userns_write_map(pid, "gid_map", lines, err);
}

/* --- in the parent ---------------------------------------------------------------------------- */

/* Returns true if all users may read the file and, unless `read_only` is true, may also write to
 * it. */
static bool is_open_to_all(const struct stat *st, bool read_only)
{
	mode_t wanted = read_only ? S_IROTH : S_IROTH | S_IWOTH;

	return (st->st_mode & wanted) == wanted;
}

int proc_stage_add_device(struct proc_stage *stage, const char *path, uid_t owner,
			  struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (stage->count == PROC_STAGE_MAX || !S_ISCHR(st.st_mode))
		return error_set(
			err, ERR_INTERNAL,
			"%s cannot be given to the machine, because it is not a character device, or too many files are given: this is a bug of microagent",
			path);
	stage->items[stage->count++] =
		(struct proc_stage_item){.node = st.st_rdev, .owner = owner, .userns_fd = -1};
	return 0;
}

int proc_stage_add(struct proc_stage *stage, int fd, bool read_only, uid_t owner, struct error *err)
{
	struct proc_stage_item item = {.read_only = read_only, .userns_fd = -1};
	char link[32], path[PATH_MAX];
	struct stat st;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "a file for the machine");
	path[n] = '\0';
	if (stage->count == PROC_STAGE_MAX)
		return error_set(
			err, ERR_INVALID,
			"a machine takes at most %d files of the host, but the config has more: leave out some disks or bundles",
			PROC_STAGE_MAX);
	if (owner && !S_ISDIR(st.st_mode) && !is_open_to_all(&st, read_only)) {
		/* The user namespace maps the owner and the group of the file to the number
		 * `owner`. The namespace maps no other user or group. */
		const struct renaming renaming = {&st, owner};

		item.userns_fd = userns_held(write_owner, &renaming, "the owner of a file", err);
		if (item.userns_fd < 0)
			return -1;
	}
	item.device = st.st_dev;
	item.inode = st.st_ino;
	item.directory = S_ISDIR(st.st_mode);
	item.path = strdup(path);
	if (!item.path) {
		cleanup_close(&item.userns_fd);
		return error_errno(err, ENOMEM, "a file for the machine");
	}
	stage->with_user = geteuid() != 0;
	snprintf(stage->uid_map, sizeof(stage->uid_map), "%u %u 1\n", geteuid(), geteuid());
	snprintf(stage->gid_map, sizeof(stage->gid_map), "%u %u 1\n", getegid(), getegid());
	stage->items[stage->count++] = item;
	return 0;
}

void proc_stage_free(struct proc_stage *stage)
{
	for (size_t i = 0; i < stage->count; i++) {
		free(stage->items[i].path);
		cleanup_close(&stage->items[i].userns_fd);
	}
	stage->count = 0;
}

void proc_stage_name(size_t n, char out[PROC_STAGE_NAME])
{
	snprintf(out, PROC_STAGE_NAME, PROC_STAGE "/%u", (unsigned)(n % PROC_STAGE_MAX));
}

/* --- in the child ----------------------------------------------------------------------------- */

static int write_text(const char *path, const char *text)
{
	autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t len = (ssize_t)strlen(text);

	return fd >= 0 && write(fd, text, (size_t)len) == len ? 0 : -1;
}

static int enter_namespaces(const struct proc_stage *stage)
{
	if (unshare(CLONE_NEWNS | (stage->with_user ? CLONE_NEWUSER : 0)) < 0)
		return -1;
	if (stage->with_user && (write_text("/proc/self/setgroups", "deny") < 0 ||
				 write_text("/proc/self/uid_map", stage->uid_map) < 0 ||
				 write_text("/proc/self/gid_map", stage->gid_map) < 0))
		return -1;
	/* With MS_SLAVE, mounts in this namespace do not appear on the host, but an unmount on the
	 * host also takes effect in this namespace. */
	return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
			       mount("microagent", PROC_STAGE, "tmpfs", MS_NOSUID, STAGE_OPTIONS) <
				       0
		       ? -1
		       : 0;
}

/* Returns a new mount that contains only the item's file or directory, or -1 with errno. ESTALE:
 * the path now names another file than when the item was added. */
static int clone_mount(const struct proc_stage_item *item)
{
	autoclose int fd = open_tree(AT_FDCWD, item->path,
				     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_dev != item->device || st.st_ino != item->inode) {
		errno = ESTALE;
		return -1;
	}
	return steal_fd(&fd);
}

/* Does the same as proc_stage_name(), but without printf(), which is not async-signal-safe. */
static void place_name(size_t n, char out[PROC_STAGE_NAME])
{
	static const char front[] = PROC_STAGE "/";
	char *at = out + sizeof(front) - 1;

	memcpy(out, front, sizeof(front) - 1);
	if (n >= 10)
		*at++ = (char)('0' + n / 10);
	*at++ = (char)('0' + n % 10);
	*at = '\0';
}

static int show_item(const struct proc_stage_item *item, size_t n)
{
	struct mount_attr attr = {.attr_set = item->read_only ? MOUNT_ATTR_RDONLY : 0};
	char name[PROC_STAGE_NAME];

	place_name(n, name);
	if (!item->path)
		return mknod(name, S_IFCHR | 0600, item->node) < 0
			       ? -1
			       : chown(name, item->owner, item->owner);
	autoclose int tree = clone_mount(item);
	if (tree < 0)
		return -1;
	if (item->userns_fd >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (unsigned)item->userns_fd;
	}
	if (attr.attr_set && mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -1;
	if (item->directory) {
		if (mkdir(name, 0700) < 0)
			return -1;
	} else {
		autoclose int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		if (fd < 0)
			return -1;
	}
	return move_mount(tree, "", AT_FDCWD, name, MOVE_MOUNT_F_EMPTY_PATH);
}

int proc_stage_enter(const struct proc_stage *stage, size_t *item)
{
	*item = stage->count;
	if (enter_namespaces(stage) < 0)
		return -1;
	for (size_t i = 0; i < stage->count; i++) {
		*item = i;
		if (show_item(&stage->items[i], i) < 0)
			return -1;
	}
	return 0;
}
