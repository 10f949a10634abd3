/* SPDX-License-Identifier: MIT */
/*
 * The pipe \\.\pipe\microagent-<systemId> of a machine's live supervisor. The pipe exists as long
 * as the live supervisor runs, so it shows that the workspace is alive. Each byte that a command
 * writes to the pipe is a request to the live supervisor (enum pipe_word). If the pipe breaks, the
 * live supervisor has exited. The pipe's name contains the random id of the machine, so no other
 * program can create the pipe before the live supervisor. Only the user of the live supervisor,
 * administrators and Windows itself may open the pipe.
 */
#ifndef HYPERV_PIPE_H
#define HYPERV_PIPE_H

#include <stdbool.h>

#include "hyperv/windows/text.h"

/* The requests of a command to the live supervisor. Each request is one byte. */
enum pipe_word { PIPE_HALT = 'h', PIPE_STOP = 's', PIPE_KILL = 'k' };

/* --- the keeper's side -------------------------------------------------------------------------
 */

/* Called for each request of a command, on a thread that serves the pipe. */
typedef void pipe_said_fn(void *data, enum pipe_word word);
/* Serves the pipe until the process exits. Returns at once: 0, or -1 with err set. */
int pipe_serve(const char *system_id, pipe_said_fn *said, void *data, struct error *err);

/* --- the commands' side ------------------------------------------------------------------------
 */

bool pipe_is_there(const char *system_id);
/* Connects to the live supervisor. The caller closes the handle. Returns INVALID_HANDLE_VALUE with
 * err set on failure. ERR_NOT_FOUND means that the machine has no live supervisor. */
HANDLE pipe_connect(const char *system_id, struct error *err);
int pipe_say(HANDLE pipe, enum pipe_word word, struct error *err);
/* Waits until the live supervisor has exited. Fails with ERR_TIMEOUT if the live supervisor has not
 * exited in time. */
int pipe_wait_end(HANDLE pipe, DWORD timeout_ms, struct error *err);
/* Kills a live supervisor that does not exit. The machine of the live supervisor then ends too. */
int pipe_kill_keeper(HANDLE pipe, struct error *err);

#endif
