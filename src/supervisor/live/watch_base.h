/* SPDX-License-Identifier: MIT */
/* Watches the file of the base of which a running session's disk is a layer. The base must have the
 * contents that were hashed. Each start compares the digest of the base. While the session runs,
 * this watch checks whether the base's file was replaced or written, or got another owner or
 * mode. */
#ifndef SUPERVISOR_WATCH_BASE_H
#define SUPERVISOR_WATCH_BASE_H

#include <sys/stat.h>

#include "base/broker.h"
#include "base/error.h"

struct watch_base {
	char *path;
	const char *told; /* the last difference that was returned; NULL: none was found */
	struct stat was;
};

/* The broker's duty for a watch. If there is a broker, it examines the file, since a process that
 * has given up its rights may not be able to open the path. The duty's data is the watch, or
 * NULL. */
extern const struct broker_duty watch_base_duty;
int watch_base_begin(struct watch_base *watch, const char *path, struct error *err);
/* Returns a text about a new difference, for example "is gone" or "was replaced". Returns NULL if
 * there is no new difference. The same difference is not returned twice in a row. */
const char *watch_base_look(struct watch_base *watch);
void watch_base_end(struct watch_base *watch); /* ends the watch; accepts a zeroed struct */

#endif
