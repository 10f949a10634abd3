/* SPDX-License-Identifier: MIT */
/* A machine that serves this process and ends with it, however this process ends. */
#ifndef API_FOREGROUND_H
#define API_FOREGROUND_H

#include "api/api.h"

/*
 * Starts the supervisor's `run` and waits until the guest is ready. option is one more word for the
 * supervisor; NULL: none. keep: the workspace stays at the end. cancel: if it is readable, the wait
 * ends with ERR_UNAVAILABLE; -1: never. A failure has the error of the supervisor. The caller frees
 * *out with supervisor_run_free() in all cases.
 */
int foreground_boot(const struct microagent *agent, const json_t *request, const char *option,
		    bool keep, int cancel, struct supervisor_run *out, struct error *err);

#endif
