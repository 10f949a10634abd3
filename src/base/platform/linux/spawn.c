/* SPDX-License-Identifier: MIT */
/* Sets up a new program on Linux: its namespaces, its mounts, the signal when its parent dies, and
 * its system call filter. */
#include "base/platform/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/linux/proc_stage.h"

/* A system call filter. `filter` points to the instructions in `code`, which is in the same block
 * of memory. */
struct spawn_rights {
	struct sock_fprog filter;
	struct sock_filter code[];
};

/* --- in the parent ---------------------------------------------------------------------------- */

int spawn_prepare(const struct proc_spec *spec, struct spawn_rights **out, struct error *err)
{
	autofree struct spawn_rights *rights = NULL;
	struct stat st;

	if (spec->filter <= 0) {
		*out = NULL;
		return 0;
	}
	if (fstat(spec->filter, &st) < 0)
		return error_errno(err, errno, "start %s: the system call filter cannot be read",
				   spec->argv[0]);
	if (st.st_size == 0 || (size_t)st.st_size > BPF_MAXINSNS * sizeof(*rights->code))
		return error_set(
			err, ERR_INTERNAL,
			"start %s: the system call filter has %lld bytes, which no filter can have: this is a bug of microagent",
			spec->argv[0], (long long)st.st_size);
	rights = malloc(sizeof(*rights) + (size_t)st.st_size);
	if (!rights)
		return error_errno(err, ENOMEM, "start %s", spec->argv[0]);
	if (pread(spec->filter, rights->code, (size_t)st.st_size, 0) != st.st_size)
		return error_set(
			err, ERR_IO,
			"start %s: the system call filter cannot be read: this is a bug of microagent",
			spec->argv[0]);
	rights->filter = (struct sock_fprog){
		.len = (unsigned short)((size_t)st.st_size / sizeof(*rights->code)),
		.filter = rights->code,
	};
	*out = steal_ptr(&rights);
	return 0;
}

/* Sets the error that explains why item n of the stage (proc_stage.h) cannot be shown in the
 * child's namespaces, although this process could open its file. Returns -1. */
int spawn_explain_stage(const struct proc_stage *stage, size_t n, int errnum, struct error *err)
{
	const struct proc_stage_item *item = n < stage->count ? &stage->items[n] : NULL;

	if (!item)
		return error_errno(err, errnum, "namespaces for its files");
	if (item->userns_fd >= 0 && (errnum == EINVAL || errnum == EOPNOTSUPP))
		return error_set(
			err, ERR_UNAVAILABLE,
			"%.120s: its file system has no idmapped mounts, which the machine's user needs: put it on ext4, XFS, btrfs, or (since Linux 6.3) tmpfs",
			item->path);
	return error_errno(err, errnum, "%s", item->path ? item->path : "a device node");
}

/* --- in the child ----------------------------------------------------------------------------- */

/* Forks. If `for_parent` is true, the new process becomes a child of this process's parent. Only
 * programs without threads may use this. */
pid_t spawn_fork(bool for_parent)
{
	return for_parent ? (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0)
			  : fork();
}

/*
 * Mounts the working directory at `bind_at`, in a new mount namespace. The caller has made the
 * directory its working directory, because the kernel moves only the working directory into the new
 * namespace. A descriptor that was opened earlier belongs to a mount of the old namespace, and
 * cannot be mounted in the new namespace.
 *
 * If bind_follows is false, later mounts on the host do not appear in the directory. The directory
 * is made private before it is made read-only, so that a mount that the host makes at the last
 * moment becomes read-only too. The other mounts of the namespace still follow the host. Otherwise
 * the namespace would keep them in use after the host has unmounted them.
 *
 * If bind_follows is true, later mounts appear in the directory, which itself contains only the
 * mount points for them. The directory is made read-only even if the mounts in it are not, because
 * it is on the file system of the host's own records, which is often in memory and must not be
 * filled.
 */
static int bind_directory(const struct proc_spec *spec)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	unsigned long propagation = spec->bind_follows ? MS_SLAVE : MS_PRIVATE;
	unsigned all = spec->bind_read_only ? AT_RECURSIVE : 0;
	const char *at = spec->bind_at;

	if (unshare(CLONE_NEWNS) < 0 || mount(".", at, NULL, MS_BIND | MS_REC, NULL) < 0 ||
	    mount(NULL, at, NULL, propagation | MS_REC, NULL) < 0)
		return -1;
	if ((spec->bind_read_only || spec->bind_follows) &&
	    mount_setattr(AT_FDCWD, at, all, &attr, sizeof(attr)) < 0)
		return -1;
	return chdir("/");
}

int spawn_enter(const struct proc_spec *spec, enum spawn_step *step, size_t *item)
{
	*step = SPAWN_USERNS;
	/* fchdir() comes before setns(), because this process has fewer rights in the user
	 * namespace. */
	if (spec->bind_at && fchdir(spec->bind_fd) < 0)
		return -1;
	if (spec->userns_fd > 0 && setns(spec->userns_fd, CLONE_NEWUSER) < 0)
		return -1;
	*step = SPAWN_BIND;
	if (spec->bind_at && bind_directory(spec) < 0)
		return -1;
	*step = SPAWN_STAGE;
	return spec->stage ? proc_stage_enter(spec->stage, item) : 0;
}

int spawn_change_user(const struct proc_spec *spec)
{
	if (spec->userns_fd > 0)
		return setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 ? -1 : setresuid(0, 0, 0);
	if (spec->uid == 0)
		return 0;
	if (setgroups(spec->ngroups, spec->groups) < 0 ||
	    setresgid(spec->gid, spec->gid, spec->gid) < 0)
		return -1;
	return setresuid(spec->uid, spec->uid, spec->uid);
}

/* Asks the kernel to kill this process when its parent exits. The caller must have changed the user
 * before, because a change of user clears this setting. If the parent has already exited, this
 * process has another parent, and exits at once. */
int spawn_end_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -1;
	if (getppid() != parent)
		_exit(128 + SIGKILL);
	return 0;
}

int spawn_give_up(const struct spawn_rights *rights)
{
	if (!rights)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &rights->filter);
}

void spawn_exec(const char *program, char *const *argv, char *const *envp)
{
	execvpe(program, argv, envp ? envp : environ);
}
