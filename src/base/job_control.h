/* SPDX-License-Identifier: MIT */
/*
 * Job control for a program that blocks its signals and reads them from a descriptor.
 *
 * If a program in the background reads its terminal or changes it, the kernel stops the program
 * during that system call (POSIX, General Terminal Interface, "Terminal Access Control"). When the
 * program is continued, the call is repeated. During the call the program cannot read its signals
 * from the descriptor. So if timeout(1) or a shell sends SIGTERM and SIGCONT to end the program,
 * the call is repeated and the program is stopped again. Therefore such a program must call
 * is_in_background() before it uses its terminal, and must stop itself by job_stop(). When the
 * program is then continued, it can read its signals.
 */
#ifndef BASE_JOB_CONTROL_H
#define BASE_JOB_CONTROL_H

#include <stdbool.h>

/* Returns true if `fd` is the controlling terminal of this process, and another job is in the
 * terminal's foreground. */
bool is_in_background(int fd);

/* Stops the job of this process by SIGTTIN, as a read from the terminal would, or by SIGTTOU, as a
 * change of the terminal would. Returns true when the job was stopped and has been continued.
 * Returns false if the job was not stopped, because it ignores or blocks the signal, or because no
 * shell could continue the job. A call on the terminal then does not stop the program either, but
 * succeeds or fails with EIO. */
bool job_stop(int signal);

#endif
