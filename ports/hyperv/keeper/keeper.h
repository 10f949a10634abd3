/* SPDX-License-Identifier: MIT */
/*
 * The keeper is the live supervisor of one machine on Windows. The keeper has the only handle of
 * the machine, the guest's control stream, and the pipe through which commands ask it to end the
 * machine. For the command `run` the keeper is in the same process. The command `start` starts
 * another process as the keeper. The keeper's main thread alone makes decisions and writes records.
 * The main thread gets notices from the keeper's other threads (inbox.h). When the keeper dies, its
 * machine ends (ShouldTerminateOnLastHandleClosed). The next command for the workspace records that
 * end.
 *
 * The keeper reads the machine's config and identity from workspace.json and runtime.json.
 */
#ifndef HYPERV_KEEPER_H
#define HYPERV_KEEPER_H

#include "base/error.h"

struct keeper;
/* Reads workspace.json and runtime.json, and opens the pipe of the live supervisor. From then on
 * other commands see that the workspace is alive. The caller holds the command lock. The result is
 * never freed. Returns NULL with err set on failure. */
struct keeper *keeper_begin(const char *state_dir, const char *id, struct error *err);
/* Creates and starts the machine, waits for its end, and records the end. Calls ready() when the
 * guest is ready. `ready` may be NULL. Returns -1 with err set if the machine could not be started,
 * or if the machine or its guest has failed. */
int keeper_keep(struct keeper *keeper, void (*ready)(void *data), void *data, struct error *err);

/* The main function of a process that is a live supervisor. `report` is the number of a handle. The
 * process writes lines to this handle: "alive", "ready", and, after a failure, an error as JSON.
 * Returns the exit code of the process. */
int keeper_main(const char *report, const char *state_dir, const char *id);

#endif
