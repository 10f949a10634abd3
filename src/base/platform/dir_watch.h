/* SPDX-License-Identifier: MIT */
/* What happens in directories, told by a descriptor that is readable when something did. More may
 * be told than was asked for: who is told looks for himself. */
#ifndef BASE_PLATFORM_DIR_WATCH_H
#define BASE_PLATFORM_DIR_WATCH_H

#include <stdbool.h>

enum dir_watch_event {
	DIR_WATCH_MADE = 1 << 0,       /* a file has been made in it */
	DIR_WATCH_MOVED_IN = 1 << 1,   /* one got its name in it */
	DIR_WATCH_REMOVED = 1 << 2,    /* one is there no more */
	DIR_WATCH_WRITTEN = 1 << 3,    /* one has been written to */
	DIR_WATCH_ATTRIBUTES = 1 << 4, /* times, modes, owners: its own or those of a file in it */
	DIR_WATCH_GONE = 1 << 5,       /* it is itself no more */
};

/* Non-blocking; -1 and errno. */
int dir_watch_open(void);
/* name, in the directory dirfd, is watched too. Its number, 0 or more; -1 and errno. */
int dir_watch_add(int watch, int dirfd, const char *name, unsigned events);
/* Takes what there is: fn (NULL: none) is called with the number of each directory in which
 * something happened, as often as it did. Whether anything had. */
typedef void dir_watch_fn(int number, void *data);
bool dir_watch_take(int watch, dir_watch_fn *fn, void *data);
/* Accepts -1. Instead of close(). */
void dir_watch_close(int watch);

static inline void cleanup_watch(int *watch)
{
	dir_watch_close(*watch);
}
#define autowatch __attribute__((cleanup(cleanup_watch)))

#endif
