/* SPDX-License-Identifier: MIT */
/* The host's memory pressure, by a trigger of the kernel's pressure stall information: tasks that
 * waited for memory for LIMIT_PRESSURE_US within two seconds. Told once in LIMIT_PRESSURE_AGAIN_MS.
 */
#ifndef SUPERVISOR_WATCH_PRESSURE_H
#define SUPERVISOR_WATCH_PRESSURE_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

#define WATCH_PRESSURE_FILE "/proc/pressure/memory"

/* what: {"some":"avg10=...", "full":...} as the kernel has them; stolen. */
typedef void watch_pressure_fn(void *data, json_t *what);

struct watch_pressure;
struct watch_pressure *watch_pressure_new(struct loop *loop, watch_pressure_fn *fn, void *data,
					  struct error *err);
void watch_pressure_free(struct watch_pressure *watch); /* accepts NULL */

#endif
