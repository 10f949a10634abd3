/* SPDX-License-Identifier: MIT */
/* The base under a running session's layer, which must stay as it was hashed. Between two starts
 * its digest is compared; while it runs, whether the file was replaced, written or given other
 * rights. */
#ifndef SUPERVISOR_WATCH_BASE_H
#define SUPERVISOR_WATCH_BASE_H

#include <sys/stat.h>

#include "base/broker.h"
#include "base/error.h"

struct watch_base {
	char *path;
	const char *told; /* the last of what was different */
	struct stat was;
};

/* The broker's part, by which one looks where there is one: the way there may be closed to whoever
 * has given up his rights. Its data: the watch, or NULL. */
extern const struct broker_duty watch_base_duty;
int watch_base_begin(struct watch_base *watch, const char *path, struct error *err);
/* What is different, once, and again when it is worse: "is gone", "was replaced"...; NULL: nothing
 * that is new. */
const char *watch_base_look(struct watch_base *watch);
void watch_base_end(struct watch_base *watch); /* accepts a zeroed one */

#endif
