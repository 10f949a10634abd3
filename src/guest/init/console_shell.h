/* SPDX-License-Identifier: MIT */
/*
 * A shell of root's on the kernel's console, where the host's config asks for one: PID 1's own
 * child, so that it is there also while the agent is not. One that ended is followed by another.
 */
#ifndef GUEST_CONSOLE_SHELL_H
#define GUEST_CONSOLE_SHELL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"

struct console_shell {
	struct loop *loop;
	int program_fd;
	pid_t pid; /* 0: none */
	uint64_t began_ns, wait_ns;
	struct loop_watch *timer; /* of the next one */
};

void console_shell_start(struct console_shell *shell);
/* pid has been reaped, which may be another's. */
void console_shell_reaped(struct console_shell *shell, pid_t pid);
/* The machine ends: a shell that sits on a terminal hears no SIGTERM. */
void console_shell_end(struct console_shell *shell);

#endif
