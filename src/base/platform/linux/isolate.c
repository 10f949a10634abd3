/* SPDX-License-Identifier: MIT */
#include "base/platform/linux/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

int isolate_core_dumps(struct error *err)
{
	static const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return error_errno(err, errno, "forbid core dumps");
	return 0;
}

/* Empties the bounding set, up to the highest capability that the kernel knows. If this process may
 * not change the set, the set stays unchanged. A full set does no harm, because with no_new_privs
 * no program can gain a capability from the set. */
static void drop_bounding_set(void)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
}

int isolate_become(const struct isolate_identity *who, struct error *err)
{
	gid_t gid = who->set_gid ? who->gid : getgid();
	uid_t uid = who->set_uid ? who->uid : getuid();

	if (!who->set_uid && !who->set_gid)
		return 0;
	/* drop_bounding_set() comes before the change of user, because only root may empty the
	 * set. */
	drop_bounding_set();
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return error_errno(err, errno, "become user %u, group %u", (unsigned)uid,
				   (unsigned)gid);
	return 0;
}

/* --- namespaces ------------------------------------------------------------------------------ */

static int write_proc(const char *path, const char *text, struct error *err)
{
	autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return error_errno(err, errno, "%s", path);
	return 0;
}

static int leave_namespaces(int which, bool with_user, struct error *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (unshare(which | (with_user ? CLONE_NEWUSER : 0)) < 0)
		return error_errno(err, errno, "unshare");
	if (!with_user)
		return 0;
	if (write_proc("/proc/self/setgroups", "deny", err) < 0)
		return -1;
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
	if (write_proc("/proc/self/uid_map", map, err) < 0)
		return -1;
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
	return write_proc("/proc/self/gid_map", map, err);
}

int isolate_namespaces(bool with_user, struct error *err)
{
	return leave_namespaces(NAMESPACES, with_user, err);
}

int isolate_mounts(bool with_user, struct error *err)
{
	return leave_namespaces(CLONE_NEWNS, with_user, err);
}

/* --- root ------------------------------------------------------------------------------------ */

/* Mounts a tmpfs over a directory that every system has, and makes the tmpfs the working directory.
 * Other processes still see the old contents of the directory, because only this process is in the
 * mount namespace. */
static int enter_empty_directory(const char *name, struct error *err)
{
	static const char *const places[] = {"/tmp", "/run", "/mnt", "/var"};
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return error_errno(err, errno, "separate the mounts");
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (mount(name, places[i], "tmpfs", flags, "mode=0755,size=64k") == 0)
			return chdir(places[i]) < 0 ? error_errno(err, errno, "%s", places[i]) : 0;
	return error_errno(err, errno, "mount an empty root");
}

static int make_it_root(struct error *err)
{
	const unsigned long flags =
		MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;

	/* With "." for both paths, pivot_root() mounts the old root on top of the new root. So
	 * umount2() of "." removes the old root. */
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return error_errno(err, errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return error_errno(err, errno, "leave the old root");
	if (mount(NULL, "/", NULL, flags, NULL) < 0)
		return error_errno(err, errno, "make the root read-only");
	return 0;
}

int isolate_root(const char *name, int (*fill)(void *data, struct error *err), void *data,
		 struct error *err)
{
	if (enter_empty_directory(name, err) < 0)
		return -1;
	if ((!fill || fill(data, err) == 0) && make_it_root(err) == 0)
		return 0;
	/* The process keeps its old root, so the tmpfs must no longer hide one of its
	 * directories. */
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -1;
	return -1;
}

/* --- rights ---------------------------------------------------------------------------------- */

int isolate_capabilities(struct error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	drop_bounding_set();
	if (syscall(SYS_capset, &header, none) < 0)
		return error_errno(err, errno, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, errno, "no_new_privs");
	return 0;
}

void isolate_keep_parent(struct isolate_parent *kept)
{
	*kept = (struct isolate_parent){.parent = getppid()};
	if (prctl(PR_GET_PDEATHSIG, &kept->signal, 0, 0, 0) < 0)
		kept->signal = 0;
}

int isolate_restore_parent(const struct isolate_parent *kept, struct error *err)
{
	if (!kept->signal)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, kept->signal, 0, 0, 0) < 0)
		return error_errno(err, errno, "end with the parent");
	if (getppid() != kept->parent)
		return error_set(
			err, ERR_CONFLICT,
			"this process is not needed any more, because the process that started it has ended");
	return 0;
}
