/* SPDX-License-Identifier: MIT */
/* A machine that serves what this process does, and ends with it however that comes about. */
#ifndef API_FOREGROUND_H
#define API_FOREGROUND_H

#include "api/api.h"

/*
 * Starts the supervisor's `run` and waits until the guest is ready. option: one more word for the
 * supervisor; NULL: none. keep: its workspace stays at the end. cancel: readable ends the waiting
 * with ERR_UNAVAILABLE; -1: never. On failure why, as the supervisor says; *out is to be freed with
 * supervisor_run_free() in any case.
 */
int foreground_boot(const struct microagent *agent, const json_t *request, const char *option,
		    bool keep, int cancel, struct supervisor_run *out, struct error *err);

#endif
