/* SPDX-License-Identifier: MIT */
/* Who opens the files of a session's directory: by fanotify, which needs CAP_SYS_ADMIN. Opens by
 * our own programs are expected; each other program is told once for each file. */
#ifndef SUPERVISOR_WATCH_OPENS_H
#define SUPERVISOR_WATCH_OPENS_H

#include <jansson.h>

#include "base/broker.h"
#include "base/error.h"
#include "base/loop.h"

/* what: {"file","pid","exe"?}, stolen; without exe the process had ended when it was looked at. */
typedef void watch_opens_fn(void *data, json_t *what);

struct watch_opens;

/* The broker's part: it reads the kernel's events itself, and tells who opened which file and what
 * that process runs, which only the right to look into it tells. Of no other process it tells
 * anything. Its data: the watch, whose descriptor the broker keeps. */
extern const struct broker_duty watch_opens_duty;
int watch_opens_fd(const struct watch_opens *watch);
/* dir: borrowed during the call. ERR_DENIED without the right. */
struct watch_opens *watch_opens_new(struct loop *loop, int dir, watch_opens_fn *fn, void *data,
				    struct error *err);
/* Tells what has been opened up to now, which the loop may come to later. Accepts NULL. */
void watch_opens_look(struct watch_opens *watch);
void watch_opens_free(struct watch_opens *watch); /* accepts NULL */

#endif
