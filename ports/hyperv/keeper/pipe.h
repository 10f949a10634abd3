/* SPDX-License-Identifier: MIT */
/*
 * \\.\pipe\microagent-<systemId>: a machine's keeper serves it for as long as it lives. That it is
 * there says that the workspace lives; a word on it asks the keeper for something; that it breaks
 * tells of the keeper's end, whatever that was. The name has the machine's random id in it, the
 * first instance is the keeper's alone, and nobody but its user, administrators and the system may
 * open it.
 */
#ifndef HYPERV_PIPE_H
#define HYPERV_PIPE_H

#include <stdbool.h>

#include "hyperv/windows/text.h"

/* What is asked for: one byte. */
enum pipe_word { PIPE_HALT = 'h', PIPE_STOP = 's', PIPE_KILL = 'k' };

/* --- the keeper's side -------------------------------------------------------------------------
 */

/* Called on threads of the pipe's. */
typedef void pipe_said_fn(void *data, enum pipe_word word);
/* Serves until the process ends. */
int pipe_serve(const char *system_id, pipe_said_fn *said, void *data, struct error *err);

/* --- the commands' side ------------------------------------------------------------------------
 */

bool pipe_is_there(const char *system_id);
/* INVALID_HANDLE_VALUE with ERR_NOT_FOUND: nobody keeps that machine. */
HANDLE pipe_connect(const char *system_id, struct error *err);
int pipe_say(HANDLE pipe, enum pipe_word word, struct error *err);
/* Until the keeper has ended; ERR_TIMEOUT. */
int pipe_wait_end(HANDLE pipe, DWORD timeout_ms, struct error *err);
/* Of a keeper that does not end: its death is the machine's. */
int pipe_kill_keeper(HANDLE pipe, struct error *err);

#endif
