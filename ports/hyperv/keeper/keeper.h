/* SPDX-License-Identifier: MIT */
/*
 * The process that keeps a machine: it holds HCS's only handle of it, the guest's control stream
 * and the pipe by which commands ask for its end. `run` is it itself, `start` leaves one behind.
 * One loop takes what its threads tell (inbox.h); only the loop decides and records. Its death is
 * the machine's (ShouldTerminateOnLastHandleClosed), and the next command that looks records it.
 *
 * What is to be kept stands in workspace.json and runtime.json.
 */
#ifndef HYPERV_KEEPER_H
#define HYPERV_KEEPER_H

#include "base/error.h"

struct keeper;
/* Reads what is to be kept and serves the pipe: from here on the workspace lives. The caller holds
 * the command lock. For the life of the process. */
struct keeper *keeper_begin(const char *state_dir, const char *id, struct error *err);
/* Makes the machine and keeps it to its end, which is recorded. ready (may be NULL) is called when
 * the guest is. -1: the machine, its guest or its making failed. */
int keeper_keep(struct keeper *keeper, void (*ready)(void *data), void *data, struct error *err);

/* main() of one that `start` leaves behind; report: number of a handle, to which it tells lines:
 * "alive", "ready", or an error as JSON at its end. The exit code. */
int keeper_main(const char *report, const char *state_dir, const char *id);

#endif
