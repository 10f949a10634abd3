/* SPDX-License-Identifier: MIT */
/* Reports that the host has too little memory, at most once in LIMIT_PRESSURE_AGAIN_MS. On Linux
 * the kernel reports this (pressure stall information) if tasks have waited for memory for
 * LIMIT_PRESSURE_US within two seconds. On macOS the kernel itself decides when memory is
 * lacking. */
#ifndef SUPERVISOR_WATCH_PRESSURE_H
#define SUPERVISOR_WATCH_PRESSURE_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

/* Called for each report. `what` is {"some":"avg10=...", "full":...} on Linux, and
 * {"level":"warning"} or {"level":"critical"} on macOS. The function releases `what`. */
typedef void watch_pressure_fn(void *data, json_t *what);

struct watch_pressure;
struct watch_pressure *watch_pressure_new(struct loop *loop, watch_pressure_fn *fn, void *data,
					  struct error *err);
void watch_pressure_free(struct watch_pressure *watch); /* accepts NULL */

#endif
