/* SPDX-License-Identifier: MIT */
/*
 * The fork and exec of one command.
 *
 * Between fork and exec the child is already the command's user and touches the command's directory
 * and file. Usually it does so on our memory while we stand still (vfork), which costs least. Then
 * whatever holds the child holds us: a share whose server is gone, so a machine that has shares
 * sets may_block and pays for a fork; and a SIGSTOP from a process of the same user in the instant
 * before exec, which makes a workload that is set on it lose its own agent and nobody else's (PID 1
 * still ends the machine).
 */
#ifndef GUEST_SPAWN_H
#define GUEST_SPAWN_H

#include <stdbool.h>

#include "base/error.h"
#include "base/proc.h"
#include "guest/job/rlimits.h"
#include "guest/job/users.h"

struct spawn_spec {
	const char *const *argv; /* argv[0] without '/' is looked up in envp's PATH */
	const char *const *envp;
	const char *cwd;	       /* NULL: the user's home, or / without one */
	const struct user *user;       /* NULL: as we are */
	int fds[3];		       /* all above 2; become 0, 1 and 2 */
	bool terminal;		       /* fds[0] is a terminal, to be the session's own */
	int cgroup_fd;		       /* -1: none */
	int program_fd;		       /* -1: argv[0] names the program; else this file is it */
	bool may_block;		       /* see above */
	bool traced;		       /* gets a login uid, which kaudit_link.h goes by */
	const struct rlimits *rlimits; /* NULL: those of every command */
};

/* Which step of the child failed. */
enum spawn_step { SPAWN_NONE, SPAWN_SESSION, SPAWN_RLIMIT, SPAWN_USER, SPAWN_CWD, SPAWN_EXEC };
struct spawn_failure {
	int step;
	int errnum;
	int resource; /* RLIMIT: which */
};

/*
 * On success there is a child. *status_fd is -1 when its fate is known: *failure says it, step NONE
 * for a program that runs. Else the (non-blocking) descriptor reaches its end when exec has
 * succeeded, and yields a struct spawn_failure before that when it has not. Signals are unblocked
 * and at their defaults in the command, provided that this process ignores none but SIGPIPE and
 * handles none.
 */
int spawn_start(const struct spawn_spec *spec, struct proc *out, int *status_fd,
		struct spawn_failure *failure, struct error *err);

/* The exit code that tells of the failure: 127 not found, 126 not executable, 125 else; text names
 * what was asked for. */
int spawn_explain(const struct spawn_failure *failure, const char *program, const char *cwd,
		  const struct user *user, struct error *err);

#endif
