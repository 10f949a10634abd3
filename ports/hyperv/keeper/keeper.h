/* SPDX-License-Identifier: MIT */
/*
 * The keeper is the live supervisor of one machine on Windows. It has the only handle of the
 * machine, the guest's control stream, and the pipe by which commands ask it to end the machine. In
 * the command `run` the keeper is in the same process; the command `start` starts another process
 * as the keeper. Only one loop of the keeper decides and records. It takes the notices of the
 * keeper's threads (inbox.h). When the keeper dies, its machine ends
 * (ShouldTerminateOnLastHandleClosed). The next command that looks at the workspace records that
 * end.
 *
 * The keeper reads the machine's config and identity from workspace.json and runtime.json.
 */
#ifndef HYPERV_KEEPER_H
#define HYPERV_KEEPER_H

#include "base/error.h"

struct keeper;
/* Reads workspace.json and runtime.json, and begins to serve the pipe. From then on the workspace
 * counts as alive. The caller holds the command lock. The result is never freed. Returns NULL with
 * an error. */
struct keeper *keeper_begin(const char *state_dir, const char *id, struct error *err);
/* Makes the machine, keeps it until its end, and records that end. `ready` is called when the guest
 * is ready; it may be NULL. Returns -1 if the machine could not be made, or if the machine or its
 * guest has failed. */
int keeper_keep(struct keeper *keeper, void (*ready)(void *data), void *data, struct error *err);

/* The main function of a keeper process. `report` is a handle as a number. The keeper writes lines
 * to it: "alive", "ready", and, after a failure, an error as JSON. Returns the exit code. */
int keeper_main(const char *report, const char *state_dir, const char *id);

#endif
