/* SPDX-License-Identifier: MIT */
/* The host's memory pressure, told once in LIMIT_PRESSURE_AGAIN_MS. On Linux by a trigger of the
 * kernel's pressure stall information: tasks that waited for memory for LIMIT_PRESSURE_US within
 * two seconds; on macOS as its kernel says it. */
#ifndef SUPERVISOR_WATCH_PRESSURE_H
#define SUPERVISOR_WATCH_PRESSURE_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

/* what: {"some":"avg10=...", "full":...} as Linux has them, {"level":"warning"} or "critical" of
 * macOS; stolen. */
typedef void watch_pressure_fn(void *data, json_t *what);

struct watch_pressure;
struct watch_pressure *watch_pressure_new(struct loop *loop, watch_pressure_fn *fn, void *data,
					  struct error *err);
void watch_pressure_free(struct watch_pressure *watch); /* accepts NULL */

#endif
