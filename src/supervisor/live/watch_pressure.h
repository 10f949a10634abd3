/* SPDX-License-Identifier: MIT */
/* Tells the host's memory pressure, at most once in LIMIT_PRESSURE_AGAIN_MS. On Linux a trigger of
 * the kernel's pressure stall information fires when tasks have waited for memory for
 * LIMIT_PRESSURE_US within two seconds. On macOS the kernel tells it. */
#ifndef SUPERVISOR_WATCH_PRESSURE_H
#define SUPERVISOR_WATCH_PRESSURE_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

/* Called for pressure. what: {"some":"avg10=...", "full":...} as in Linux, {"level":"warning"} or
 * "critical" on macOS; the function takes it over. */
typedef void watch_pressure_fn(void *data, json_t *what);

struct watch_pressure;
struct watch_pressure *watch_pressure_new(struct loop *loop, watch_pressure_fn *fn, void *data,
					  struct error *err);
void watch_pressure_free(struct watch_pressure *watch); /* accepts NULL */

#endif
