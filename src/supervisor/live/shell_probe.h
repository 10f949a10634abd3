/* SPDX-License-Identifier: MIT */
/* An agent round trip, by which shellReady is known; no process of the guest is started for it. */
#ifndef SUPERVISOR_SHELL_PROBE_H
#define SUPERVISOR_SHELL_PROBE_H

#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"

struct shell_probe;

/* why is NULL when the agent has answered. Called from the loop, once; the probe is gone by then.
 */
typedef void shell_probed_fn(void *data, const struct error *why);

struct shell_probe *shell_probe_new(struct loop *loop, int workspace_fd, uint64_t deadline_ns,
				    shell_probed_fn *done, void *data, struct error *err);
void shell_probe_free(struct shell_probe *probe); /* gives up; accepts NULL */

#endif
