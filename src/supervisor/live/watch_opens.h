/* SPDX-License-Identifier: MIT */
/* Watches which processes open the files of a session's directory. Uses fanotify, which needs
 * CAP_SYS_ADMIN. Opens by our own programs are expected. Each other program is told once for each
 * file. */
#ifndef SUPERVISOR_WATCH_OPENS_H
#define SUPERVISOR_WATCH_OPENS_H

#include <jansson.h>

#include "base/broker.h"
#include "base/error.h"
#include "base/loop.h"

/* Called for an open. what: {"file","pid","exe"?}; the function takes it over. Without exe the
 * process had ended before it was looked at. */
typedef void watch_opens_fn(void *data, json_t *what);

struct watch_opens;

/* The broker's part. The broker itself reads the kernel's events. It tells which process opened
 * which file and what program that process runs; this needs the right to look into the process. It
 * tells nothing about any other process. Its data is the watch, whose descriptor the broker
 * keeps. */
extern const struct broker_duty watch_opens_duty;
int watch_opens_fd(const struct watch_opens *watch);
/* Begins to watch. dir is borrowed during the call. ERR_DENIED: the right is missing. */
struct watch_opens *watch_opens_new(struct loop *loop, int dir, watch_opens_fn *fn, void *data,
				    struct error *err);
/* Tells the opens up to now at once; otherwise the loop would tell them later. Accepts NULL. */
void watch_opens_look(struct watch_opens *watch);
void watch_opens_free(struct watch_opens *watch); /* accepts NULL */

#endif
