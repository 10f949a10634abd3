/* SPDX-License-Identifier: MIT */
/* Watches which processes open the files of a session's directory. The watch uses fanotify, which
 * needs CAP_SYS_ADMIN. Programs of microagent are expected to open these files. Any other program
 * is reported once for each file that it opens. */
#ifndef SUPERVISOR_WATCH_OPENS_H
#define SUPERVISOR_WATCH_OPENS_H

#include <jansson.h>

#include "base/broker.h"
#include "base/error.h"
#include "base/loop.h"

/* Called when a file was opened. `what` is {"file","pid","exe"?}, which the function releases.
 * `exe` is missing if the process had exited before it could be examined. */
typedef void watch_opens_fn(void *data, json_t *what);

struct watch_opens;

/* The broker's duty for a watch. The broker itself reads the kernel's events. The broker reports
 * which process has opened which file, and which program this process runs. To find out the
 * program, the broker needs the right to examine the process. The broker reports nothing about
 * other processes. The duty's data is the watch, whose descriptor the broker keeps. */
extern const struct broker_duty watch_opens_duty;
int watch_opens_fd(const struct watch_opens *watch);
/* Starts to watch the directory `dir`. The caller may close `dir` after the call. ERR_DENIED: this
 * process has no right to watch. */
struct watch_opens *watch_opens_new(struct loop *loop, int dir, watch_opens_fn *fn, void *data,
				    struct error *err);
/* Reports now all files that were opened until now, before the loop would report them. Accepts
 * NULL. */
void watch_opens_look(struct watch_opens *watch);
void watch_opens_free(struct watch_opens *watch); /* accepts NULL */

#endif
