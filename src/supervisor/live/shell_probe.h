/* SPDX-License-Identifier: MIT */
/* Determines the value of shellReady by sending a request to the guest's agent, which must answer.
 * The agent starts no process for this request. */
#ifndef SUPERVISOR_SHELL_PROBE_H
#define SUPERVISOR_SHELL_PROBE_H

#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"

struct shell_probe;

/* Called once, from the loop, with the result of the probe. If `why` is NULL, the agent has
 * answered. Otherwise `why` is the reason why there is no answer. The probe is already freed when
 * the function is called. */
typedef void shell_probed_fn(void *data, const struct error *why);

struct shell_probe *shell_probe_new(struct loop *loop, int workspace_fd, uint64_t deadline_ns,
				    shell_probed_fn *done, void *data, struct error *err);
void shell_probe_free(struct shell_probe *probe); /* cancels the probe; accepts NULL */

#endif
