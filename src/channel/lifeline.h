/* SPDX-License-Identifier: MIT */
/*
 * What a machine lives by: a connection that its maker, or its owner, has to its live supervisor.
 * When the connection ends the supervisor ends the machine. The maker lets the machine go on without
 * it by one byte.
 *
 * The near end is this process's alone, so that the connection ends with this process, however that
 * comes about. A child that was forked by somebody who knows nothing of it, and executes nothing,
 * has its copy closed at its start (pthread_atfork()), and may outlive us. Thread-safe.
 */
#ifndef CHANNEL_LIFELINE_H
#define CHANNEL_LIFELINE_H

#include "base/error.h"

/* *near_end is ours; *far_end is handed to the supervisor, and closed. */
int lifeline_open(int *near_end, int *far_end, struct error *err);
/* A connection that is there becomes one. It is the caller's still on failure. */
int lifeline_adopt(int fd, struct error *err);
/* Each ends ours, which is -1 then; -1 is accepted, and what a parent of ours has is left alone.
 * The machine goes on: */
void lifeline_let_go(int *near_end);
/* The machine ends, also where another process has a copy in spite of all: */
void lifeline_cut(int *near_end);
#define autoline __attribute__((cleanup(lifeline_cut)))

#endif
