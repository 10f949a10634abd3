/* SPDX-License-Identifier: MIT */
/* Watches the base under a running session's layer, which must stay as it was hashed. Between two
 * starts the digest of the base is compared. While the session runs, it is watched whether the file
 * was replaced or written, or got other rights. */
#ifndef SUPERVISOR_WATCH_BASE_H
#define SUPERVISOR_WATCH_BASE_H

#include <sys/stat.h>

#include "base/broker.h"
#include "base/error.h"

struct watch_base {
	char *path;
	const char *told; /* the last difference that was told */
	struct stat was;
};

/* The broker's part. If there is a broker, it does the look: a process that has given up its rights
 * may not be able to reach the file. Its data is the watch, or NULL. */
extern const struct broker_duty watch_base_duty;
int watch_base_begin(struct watch_base *watch, const char *path, struct error *err);
/* Returns what is different: "is gone", "was replaced"... Each difference is told once, and again
 * when it gets worse. NULL: there is nothing new. */
const char *watch_base_look(struct watch_base *watch);
void watch_base_end(struct watch_base *watch); /* accepts a zeroed one */

#endif
