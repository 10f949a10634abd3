/* SPDX-License-Identifier: MIT */
/*
 * Sets the rights of a program in a container, in this order:
 *
 *   1. The capability bounding set is reduced. Later this process has no right to do so.
 *   2. If the program may get new privileges, the system call filter is loaded here. Loading it
 *      needs CAP_SYS_ADMIN, which step 3 takes away.
 *   3. The user and group ids are changed. The permitted capabilities are kept over the change.
 *   4. The new user enters the working directory. If the user may not enter the directory, the
 *      process stays in it, since it has entered the directory before step 1, as in runc.
 *   5. The other capability sets are set.
 *   6. If the program may not get new privileges, no_new_privs is set, and then the system call
 *      filter is loaded. With no_new_privs this needs no capability.
 */
#include "guest/container/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "guest/job/spawn.h"

#define CAPABILITIES 64

static int set_oom_score(int score, struct error *err)
{
	autoclose int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", score);

	if (fd < 0 && errno == ENOENT)
		return 0; /* the container has no /proc, so the value cannot be set */
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		return error_errno(err, errno, "oomScoreAdj %d", score);
	return 0;
}

static int set_capabilities(const uint64_t sets[CAPABILITY_SETS], struct error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	for (int i = 0; i < 2; i++) {
		data[i].effective = (uint32_t)(sets[CAPABILITY_EFFECTIVE] >> 32 * i);
		data[i].permitted = (uint32_t)(sets[CAPABILITY_PERMITTED] >> 32 * i);
		data[i].inheritable = (uint32_t)(sets[CAPABILITY_INHERITABLE] >> 32 * i);
	}
	if (syscall(SYS_capset, &header, data) < 0)
		return error_errno(err, errno, "capabilities");
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* A capability that is not inheritable cannot become ambient, and prctl() fails with EPERM.
	 * Some configs ask for such a capability, so this error is ignored, as in runc. */
	for (unsigned long i = 0; i < CAPABILITIES; i++)
		if (sets[CAPABILITY_AMBIENT] & UINT64_C(1) << i &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) < 0 && errno != EPERM)
			return error_errno(err, errno, "ambient capability %lu", i);
	return 0;
}

static int load_filter(const struct contained_process *process, struct error *err)
{
	struct sock_fprog program = {
		.len = (unsigned short)(process->seccomp.len / sizeof(struct sock_filter)),
		.filter = (struct sock_filter *)(uintptr_t)buf_bytes(&process->seccomp),
	};

	if (process->seccomp.len == 0)
		return 0;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, process->seccomp_flags, &program) < 0)
		return error_errno(err, errno, "seccomp");
	return 0;
}

int rights_take(const struct contained_process *process, const char *cwd, bool first,
		struct error *err)
{
	uint64_t bounding = process->capabilities[CAPABILITY_BOUNDING];
	uint32_t uid = process->uid, gid = process->gid;
	const char *directory = cwd ? cwd : "/";
	bool entered;

	if (process->personality >= 0 && personality((unsigned long)process->personality) < 0)
		return error_errno(err, errno, "personality");
	umask((mode_t)process->umask);
	if (process->has_oom_score_adj && set_oom_score(process->oom_score_adj, err) < 0)
		return -1;
	/* If the working directory is missing in the image, it is created for a container's first
	 * process, as in runc. */
	if (first && spawn_enter_directory(directory) < 0) {
		if (errno != ENOENT)
			return spawn_explain_directory(directory, errno, err);
		if (path_make_dirs(directory, 0755, err) < 0)
			return -1;
	}
	entered = spawn_enter_directory(directory) == 0;
	for (unsigned long i = 0; i < CAPABILITIES; i++)
		if (!(bounding & UINT64_C(1) << i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 &&
		    errno != EINVAL)
			return error_errno(err, errno, "bounding set");
	if (!process->no_new_privileges && load_filter(process, err) < 0)
		return -1;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ||
	    setgroups(process->ngroups, process->groups) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0 || prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) < 0)
		return error_errno(err, errno, "cannot become user %u:%u", uid, gid);
	if (spawn_enter_directory(directory) < 0 && !(entered && errno == EACCES))
		return spawn_explain_directory(directory, errno, err);
	if (set_capabilities(process->capabilities, err) < 0)
		return -1;
	if (!process->no_new_privileges)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, errno, "noNewPrivileges");
	return load_filter(process, err);
}
