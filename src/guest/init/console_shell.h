/* SPDX-License-Identifier: MIT */
/*
 * A shell on the kernel's console that runs as root, if the host wants one. The shell is a child of
 * PID 1, so that it works even if the agent does not. When the shell ends, a new one is started.
 */
#ifndef GUEST_CONSOLE_SHELL_H
#define GUEST_CONSOLE_SHELL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"

struct console_shell {
	struct loop *loop;
	int program_fd;
	pid_t pid; /* the process id of the shell; 0: no shell runs */
	uint64_t began_ns, wait_ns;
	struct loop_watch *timer; /* the timer that starts the next shell */
};

void console_shell_start(struct console_shell *shell);
/* Must be called for every process that PID 1 has reaped. `pid` may be the shell or any other
 * process. */
void console_shell_reaped(struct console_shell *shell, pid_t pid);
/* Ends the shell when the machine ends. Sends SIGHUP, because a shell that runs on a terminal
 * ignores SIGTERM. */
void console_shell_end(struct console_shell *shell);

#endif
