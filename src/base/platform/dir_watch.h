/* SPDX-License-Identifier: MIT */
/* Watches directories. A watch is a descriptor that becomes readable when something has changed in
 * one of its directories. The descriptor may also become readable without such a change, so the
 * caller must examine the directory itself. */
#ifndef BASE_PLATFORM_DIR_WATCH_H
#define BASE_PLATFORM_DIR_WATCH_H

#include <stdbool.h>

enum dir_watch_event {
	DIR_WATCH_MADE = 1 << 0,       /* a file was made in the directory */
	DIR_WATCH_MOVED_IN = 1 << 1,   /* a file was renamed into the directory */
	DIR_WATCH_REMOVED = 1 << 2,    /* a file was removed from the directory */
	DIR_WATCH_WRITTEN = 1 << 3,    /* a file in the directory was written to */
	DIR_WATCH_ATTRIBUTES = 1 << 4, /* times, modes or owners of the directory, or of a file
					* in the directory, were changed */
	DIR_WATCH_GONE = 1 << 5,       /* the directory itself was removed */
};

/* Opens a watch, which is non-blocking. Returns -1 with errno on failure. */
int dir_watch_open(void);
/* Adds the directory dirfd/name to a watch. `events` consists of bits of enum dir_watch_event.
 * Returns the number of the directory in this watch, 0 or more; -1 with errno on failure. */
int dir_watch_add(int watch, int dirfd, const char *name, unsigned events);
/* Reads all events, and calls `fn` (may be NULL) for each event, with the number of its directory.
 * Returns true if there were events. */
typedef void dir_watch_fn(int number, void *data);
bool dir_watch_take(int watch, dir_watch_fn *fn, void *data);
/* Closes a watch. close() must not be used instead, since a watch may need more than a descriptor.
 * Accepts -1. */
void dir_watch_close(int watch);

static inline void cleanup_watch(int *watch)
{
	dir_watch_close(*watch);
}
#define autowatch __attribute__((cleanup(cleanup_watch)))

#endif
