/* SPDX-License-Identifier: MIT */
/*
 * The lifeline of a machine: a connection from its maker, or its owner, to its live supervisor.
 * When the connection ends, the supervisor ends the machine. The maker releases the machine from it
 * by sending one byte.
 *
 * The near end belongs only to this process, so that the connection ends with this process in every
 * case. A child may be forked by code that does not know of it, execute nothing, and outlive this
 * process: its copy is closed when it starts (pthread_atfork()). Thread-safe.
 */
#ifndef CHANNEL_LIFELINE_H
#define CHANNEL_LIFELINE_H

#include "base/error.h"

/* Makes a lifeline. This process keeps *near_end. The caller passes *far_end to the supervisor, and
 * closes it. */
int lifeline_open(int *near_end, int *far_end, struct error *err);
/* Makes a lifeline from an existing connection. On failure fd is still the caller's. */
int lifeline_adopt(int fd, struct error *err);
/* Closes the near end, which becomes -1, and lets the machine go on. Accepts -1. Does nothing to
 * the copy of a parent process. */
void lifeline_let_go(int *near_end);
/* Closes the near end, which becomes -1, and ends the machine, even if another process has a copy
 * after all. Accepts -1. Does nothing to the copy of a parent process. */
void lifeline_cut(int *near_end);
#define autoline __attribute__((cleanup(lifeline_cut)))

#endif
