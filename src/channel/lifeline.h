/* SPDX-License-Identifier: MIT */
/*
 * The lifeline of a machine: a connection from this process, which makes the machine or owns the
 * session, to the live supervisor. When the connection ends, the supervisor ends the machine. If
 * this process sends one byte before it closes the connection, the machine goes on without the
 * lifeline.
 *
 * The near end is this process's descriptor of the connection. The far end is the supervisor's
 * descriptor. No other process may have the near end, so that the connection ends when this process
 * ends in any way. Other code of this process may fork a child that executes no program and lives
 * longer than this process. So each forked child closes its copy of the near end at once
 * (pthread_atfork()). Thread-safe.
 */
#ifndef CHANNEL_LIFELINE_H
#define CHANNEL_LIFELINE_H

#include "base/error.h"

/* Makes a lifeline. This process keeps *near_end. The caller passes *far_end to the supervisor, and
 * closes it. */
int lifeline_open(int *near_end, int *far_end, struct error *err);
/* Makes a lifeline from an existing connection to a supervisor. From then on the supervisor cannot
 * send anything over the connection. On success `fd` is the near end of the lifeline, which must be
 * closed by lifeline_let_go() or lifeline_cut(). */
int lifeline_adopt(int fd, struct error *err);
/* Closes the near end and lets the machine go on. *near_end becomes -1. Accepts -1. In a forked
 * child, where the near end is closed already, only sets *near_end to -1. */
void lifeline_let_go(int *near_end);
/* Closes the near end and ends the machine, even if another process has a copy of the near end.
 * *near_end becomes -1. Accepts -1. In a forked child, where the near end is closed already, only
 * sets *near_end to -1. */
void lifeline_cut(int *near_end);
#define autoline __attribute__((cleanup(lifeline_cut)))

#endif
