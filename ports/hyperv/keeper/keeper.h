/* SPDX-License-Identifier: MIT */
/*
 * The keeper: the live supervisor of one machine on Windows. It has the only handle of the machine,
 * the guest's control stream, and the pipe by which commands ask for the machine's end. The command
 * `run` is itself the keeper; the command `start` starts another process as the keeper. One loop
 * takes the notices of the keeper's threads (inbox.h), and only this loop decides and records. The
 * machine ends when its keeper dies (ShouldTerminateOnLastHandleClosed), and the next command that
 * looks at the workspace records that end.
 *
 * The keeper reads the machine's config and identity from workspace.json and runtime.json.
 */
#ifndef HYPERV_KEEPER_H
#define HYPERV_KEEPER_H

#include "base/error.h"

struct keeper;
/* Reads workspace.json and runtime.json, and begins to serve the pipe. The workspace is alive from
 * this moment on. The caller holds the command lock. The result is never freed. */
struct keeper *keeper_begin(const char *state_dir, const char *id, struct error *err);
/* Makes the machine, keeps it until its end, and records that end. `ready` is called when the guest
 * is ready; it may be NULL. Returns -1 if the machine, its guest, or making the machine failed. */
int keeper_keep(struct keeper *keeper, void (*ready)(void *data), void *data, struct error *err);

/* The main function of a keeper process. `report` is the number of a handle, to which the keeper
 * writes lines: "alive", "ready", and, if it fails, an error as JSON. Returns the exit code. */
int keeper_main(const char *report, const char *state_dir, const char *id);

#endif
