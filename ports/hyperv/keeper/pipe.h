/* SPDX-License-Identifier: MIT */
/*
 * The pipe \\.\pipe\microagent-<systemId>. The keeper of a machine serves it as long as the keeper
 * lives. If the pipe exists, the workspace is alive. Each byte that a command writes to the pipe is
 * a request to the keeper (enum pipe_word). If the pipe breaks, the keeper has ended, for any
 * reason. The name contains the random id of the machine, so only the keeper can make the first
 * instance. Only the user of the keeper, administrators and the system may open the pipe.
 */
#ifndef HYPERV_PIPE_H
#define HYPERV_PIPE_H

#include <stdbool.h>

#include "hyperv/windows/text.h"

/* The requests of a command to the keeper. Each request is one byte. */
enum pipe_word { PIPE_HALT = 'h', PIPE_STOP = 's', PIPE_KILL = 'k' };

/* --- the keeper's side -------------------------------------------------------------------------
 */

/* A function for the requests. It is called on the threads that serve the pipe. */
typedef void pipe_said_fn(void *data, enum pipe_word word);
/* Serves the pipe until the process ends. */
int pipe_serve(const char *system_id, pipe_said_fn *said, void *data, struct error *err);

/* --- the commands' side ------------------------------------------------------------------------
 */

bool pipe_is_there(const char *system_id);
/* Connects to the keeper. The caller closes the handle. Returns INVALID_HANDLE_VALUE with an error;
 * ERR_NOT_FOUND: the machine has no keeper. */
HANDLE pipe_connect(const char *system_id, struct error *err);
int pipe_say(HANDLE pipe, enum pipe_word word, struct error *err);
/* Waits until the keeper has ended. ERR_TIMEOUT: it has not ended in time. */
int pipe_wait_end(HANDLE pipe, DWORD timeout_ms, struct error *err);
/* Kills a keeper that does not end. The keeper's machine then ends too. */
int pipe_kill_keeper(HANDLE pipe, struct error *err);

#endif
