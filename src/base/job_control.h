/* SPDX-License-Identifier: MIT */
/*
 * Job control for a program that takes signals by descriptor.
 *
 * A program in the background that reads its terminal, or changes it, is stopped by the system
 * inside of that call, which begins again when the program is continued. A program whose signals
 * are blocked, so that a descriptor tells them, never gets to see them there: SIGTERM and SIGCONT,
 * which timeout(1) and shells send to end such a job, only stop it again. So it asks first, and
 * stops itself where it can look at its signals afterwards. POSIX, General Terminal Interface,
 * "Terminal Access Control".
 */
#ifndef BASE_JOB_CONTROL_H
#define BASE_JOB_CONTROL_H

#include <stdbool.h>

/* Whether fd is the terminal of this session and another job has it. Changes nothing. */
bool is_in_background(int fd);

/* Stops this process's job by SIGTTIN, as a read from there would, or by SIGTTOU, as a change would.
 * Returns once the job was continued: true. False: the job was not stopped, since it ignores or
 * blocks the signal, or since there is no shell that could continue it; the call itself then says
 * EIO, or is allowed. */
bool job_stop(int signal);

#endif
