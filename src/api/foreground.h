/* SPDX-License-Identifier: MIT */
/* A machine that serves this process and ends with it, however this process ends. */
#ifndef API_FOREGROUND_H
#define API_FOREGROUND_H

#include "api/api.h"

/*
 * Starts the supervisor's `run` and waits until the guest is ready. `option` is one more word of
 * the supervisor's command line; NULL: no word. If `keep` is set, the workspace stays when the
 * machine has ended. `cancel` is a descriptor. When it is readable, the wait ends with
 * ERR_UNAVAILABLE. -1: no descriptor. If the supervisor fails, *err is its error. *out must be
 * SUPERVISOR_RUN_NONE; the caller frees it with supervisor_run_free(), also on failure.
 */
int foreground_boot(const struct microagent *agent, const json_t *request, const char *option,
		    bool keep, int cancel, struct supervisor_run *out, struct error *err);

#endif
