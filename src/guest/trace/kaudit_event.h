/* SPDX-License-Identifier: MIT */
/*
 * Events of the kernel's audit, put together from their records. The records of one event have one
 * serial number; those of events on several processors come mixed. An event ends with a record of
 * its own; where that was dropped on the way, the event is handed on, as far as it is known, when
 * its place is needed. Pure, and bounded in memory whatever comes.
 */
#ifndef GUEST_KAUDIT_EVENT_H
#define GUEST_KAUDIT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The keys of our rules (kaudit_link.c), by which the kernel marks the events; all but the first
 * two name a way in which open's flags are given. */
#define KAUDIT_KEY_EXEC "exec"
#define KAUDIT_KEY_CONNECT "connect"
#define KAUDIT_KEY_OPEN "open"	     /* in the second argument */
#define KAUDIT_KEY_OPENAT "openat"   /* in the third */
#define KAUDIT_KEY_OPENAT2 "openat2" /* in a record of their own */
#define KAUDIT_KEY_CREAT "creat"     /* not at all */

/* As JSON, about: what is kept of an argv, and how many words of it. */
#define KAUDIT_ARGV_BYTES 32768
#define KAUDIT_ARGV_WORDS 1000
#define KAUDIT_PATH_BYTES 4096
/* Events at once of which the end has not come. */
#define KAUDIT_EVENTS 16

enum kaudit_kind { KAUDIT_EXEC, KAUDIT_OPEN, KAUDIT_CONNECT };

struct kaudit_event {
	bool used;
	uint64_t serial;
	int64_t real_ms;
	enum kaudit_kind kind;
	uint64_t pid, ppid, uid;
	int64_t exit; /* of the system call; below 0: an errno */
	struct buf exe;
	/* EXEC */
	struct buf argv; /* words, a NUL between two */
	unsigned words;	 /* of them */
	uint64_t argc;	 /* as the program got it */
	size_t argv_cost;
	bool truncated; /* words or their ends are missing */
	/* OPEN */
	bool openat;
	uint64_t flags, dirfd;
	struct buf cwd, path;	   /* path: as named until the event is whole */
	bool has_path, has_parent; /* has_parent: path is the directory, until the file is named */
	uint64_t mode, inode, major, minor; /* mode 0: there is no such file */
	/* CONNECT */
	uint8_t address[28]; /* struct sockaddr_in or sockaddr_in6 */
	size_t address_len;
};

/*
 * Events that the kernel made and that never came. It numbers them, and what it drops between the
 * making and us it does not always count: without `audit=1` on its command line a record that found
 * our socket full twice is gone without a word. Zeroed: none seen yet.
 */
struct kaudit_serials {
	bool begun;
	uint64_t settled; /* up to here it is known which have come */
	uint64_t mark;	  /* the highest at the last question */
	uint64_t highest;
	uint64_t seen, seen_later; /* up to the mark and above it */
};

struct kaudit_events {
	struct kaudit_event open[KAUDIT_EVENTS];
	/* That were begun and have not what they tell of, or never came; the owner takes it. */
	uint64_t lost;
	struct kaudit_serials serials;
	void (*done)(void *data, const struct kaudit_event *event);
	void *data;
};

/* A record: type is its netlink message type. What is no record of ours is passed over. */
void kaudit_events_take(struct kaudit_events *events, unsigned type, const char *text, size_t len);
/* Counts what was expected the last time and has not come until now. One processor's events overtake
 * another's, so a second or so has to lie between two times. */
void kaudit_events_settle(struct kaudit_events *events);
/* Hands on what waits for its end. */
void kaudit_events_flush(struct kaudit_events *events);
void kaudit_events_free(struct kaudit_events *events);

#endif
