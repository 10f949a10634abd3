/* SPDX-License-Identifier: MIT */
/*
 * Job control for a program that takes signals by descriptor.
 *
 * A program in the background that reads its terminal, or changes it, is stopped by the system
 * inside of that call. The call begins again when the program is continued. A program that blocks
 * its signals and reads them from a descriptor cannot read them there: SIGTERM and SIGCONT, which
 * timeout(1) and shells send to end such a job, only stop the program again. So the program asks
 * first, and stops itself at a place where it can read its signals afterwards. POSIX, General
 * Terminal Interface, "Terminal Access Control".
 */
#ifndef BASE_JOB_CONTROL_H
#define BASE_JOB_CONTROL_H

#include <stdbool.h>

/* Returns whether fd is the terminal of this session and another job is in its foreground. Changes
 * nothing. */
bool is_in_background(int fd);

/* Stops this process's job by SIGTTIN, as a read from the terminal would, or by SIGTTOU, as a
 * change would. Returns true after the job was continued. Returns false if the job was not stopped,
 * because it ignores or blocks the signal, or because there is no shell that could continue it; the
 * call on the terminal then fails with EIO, or is allowed. */
bool job_stop(int signal);

#endif
