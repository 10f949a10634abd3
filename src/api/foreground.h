/* SPDX-License-Identifier: MIT */
/* A machine that runs only for this process, and ends when this process exits in any way. */
#ifndef API_FOREGROUND_H
#define API_FOREGROUND_H

#include "api/api.h"

/*
 * Starts the supervisor's `run` and waits until the guest is ready. `option` is one more word for
 * the supervisor's command line; NULL: no word. If `keep` is set, the workspace stays after the end
 * of the machine. `cancel` is a descriptor, or -1. When `cancel` is readable, the wait ends with
 * ERR_UNAVAILABLE. If the supervisor fails, *err is the supervisor's error. *out must be
 * SUPERVISOR_RUN_NONE; the caller frees it with supervisor_run_free(), also on failure.
 */
int foreground_boot(const struct microagent *agent, const json_t *request, const char *option,
		    bool keep, int cancel, struct supervisor_run *out, struct error *err);

#endif
