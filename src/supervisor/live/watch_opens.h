/* SPDX-License-Identifier: MIT */
/* Watches which processes open the files of a session's directory. This uses fanotify, which needs
 * CAP_SYS_ADMIN. Programs of microagent are expected to open these files. A program that is not a
 * part of microagent is reported once for each file. */
#ifndef SUPERVISOR_WATCH_OPENS_H
#define SUPERVISOR_WATCH_OPENS_H

#include <jansson.h>

#include "base/broker.h"
#include "base/error.h"
#include "base/loop.h"

/* Called when a file was opened. `what` is {"file","pid","exe"?}, and the function takes it over.
 * `exe` is missing if the process had ended before it could be looked at. */
typedef void watch_opens_fn(void *data, json_t *what);

struct watch_opens;

/* The broker's duty for a watch. The broker itself reads the kernel's events. It tells which
 * process opened which file, and which program that process runs; for the latter it needs the right
 * to look into the process. It tells nothing about any other process. The duty's data is the watch,
 * whose descriptor the broker keeps. */
extern const struct broker_duty watch_opens_duty;
int watch_opens_fd(const struct watch_opens *watch);
/* Begins to watch the directory `dir`, which must stay open only during the call. ERR_DENIED: this
 * process has no right to watch. */
struct watch_opens *watch_opens_new(struct loop *loop, int dir, watch_opens_fn *fn, void *data,
				    struct error *err);
/* Reports at once all files that were opened up to now. Without this call the loop reports them
 * later. Accepts NULL. */
void watch_opens_look(struct watch_opens *watch);
void watch_opens_free(struct watch_opens *watch); /* accepts NULL */

#endif
