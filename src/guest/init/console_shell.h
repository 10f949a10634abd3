/* SPDX-License-Identifier: MIT */
/*
 * A shell of root on the kernel's console, if the host's config asks for it. The shell is a child
 * of PID 1, so that it works even if the agent does not. When the shell ends, a new one is started.
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
	struct loop_watch *timer; /* the timer for the next start of a shell */
};

void console_shell_start(struct console_shell *shell);
/* Notes that the process `pid` has been reaped. This process may be the shell or any other. */
void console_shell_reaped(struct console_shell *shell, pid_t pid);
/* Ends the shell when the machine ends. Sends SIGHUP, since a shell on a terminal ignores
 * SIGTERM. */
void console_shell_end(struct console_shell *shell);

#endif
