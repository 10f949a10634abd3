/* SPDX-License-Identifier: MIT */
/*
 * Job control for a program that takes signals by descriptor.
 *
 * If a program in the background reads its terminal or changes it, the system stops the program
 * inside of that call (POSIX, General Terminal Interface, "Terminal Access Control"). When the
 * program is continued, the call begins again. A program that blocks its signals and reads them
 * from a descriptor cannot read them inside of the call. So if timeout(1) or a shell sends SIGTERM
 * and SIGCONT to end the program, the call begins again, and the program is only stopped again.
 * Such a program must therefore ask is_in_background() before it touches its terminal, and stop
 * itself by job_stop(); when it is continued, it can read its signals.
 */
#ifndef BASE_JOB_CONTROL_H
#define BASE_JOB_CONTROL_H

#include <stdbool.h>

/* Returns whether `fd` is the terminal of this session, and another job is in its foreground. */
bool is_in_background(int fd);

/* Stops the job of this process by SIGTTIN, as a read from the terminal would, or by SIGTTOU, as a
 * change of the terminal would. Returns true when the job was stopped and has been continued.
 * Returns false if the job was not stopped: because it ignores or blocks the signal, or because
 * there is no shell that could continue the job. Then a call on the terminal does not stop the
 * program either: the call fails with EIO, or succeeds. */
bool job_stop(int signal);

#endif
