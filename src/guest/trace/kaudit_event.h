/* SPDX-License-Identifier: MIT */
/*
 * Puts events of the kernel's audit together from their records. All records of an event have the
 * same serial number; records of several events may come mixed. A special record ends an event. If
 * that record was lost, the event is handed on incomplete when another event needs its place. The
 * functions are pure, and their memory is bounded, whatever the records are.
 */
#ifndef GUEST_KAUDIT_EVENT_H
#define GUEST_KAUDIT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The keys of the agent's rules (kaudit_link.c), with which the kernel marks the events. The last
 * four also say where a call that opens a file has its flags. */
#define KAUDIT_KEY_EXEC "exec"
#define KAUDIT_KEY_CONNECT "connect"
#define KAUDIT_KEY_OPEN "open"	     /* the second argument of the call has the flags */
#define KAUDIT_KEY_OPENAT "openat"   /* the third argument of the call has the flags */
#define KAUDIT_KEY_OPENAT2 "openat2" /* a further record of the event has the flags */
#define KAUDIT_KEY_CREAT "creat"     /* the call has no flags */

/* About how many bytes of JSON, and how many words, are kept of an argv. */
#define KAUDIT_ARGV_BYTES 32768
#define KAUDIT_ARGV_WORDS 1000
#define KAUDIT_PATH_BYTES 4096
/* The most events that may be incomplete at the same time. */
#define KAUDIT_EVENTS 16

enum kaudit_kind { KAUDIT_EXEC, KAUDIT_OPEN, KAUDIT_CONNECT };

struct kaudit_event {
	bool used;
	uint64_t serial;
	int64_t real_ms;
	enum kaudit_kind kind;
	uint64_t pid, ppid, uid;
	int64_t exit; /* result of the system call; below 0: an errno */
	struct buf exe;
	/* For EXEC: */
	struct buf argv; /* words, with a NUL between two of them */
	unsigned words;	 /* number of words in argv */
	uint64_t argc;	 /* the program's own argc */
	size_t argv_cost;
	bool truncated; /* words, or the ends of words, are missing */
	/* For OPEN: */
	bool openat;
	uint64_t flags, dirfd;
	/* path: the path as the program gave it, until the event is complete */
	struct buf cwd, path;
	/* has_parent: `path` is the directory, until a record names the file */
	bool has_path, has_parent;
	uint64_t mode, inode, major, minor; /* mode 0: there is no such file */
	/* For CONNECT: */
	uint8_t address[28]; /* struct sockaddr_in or sockaddr_in6 */
	size_t address_len;
};

/*
 * Counts events that the kernel made and that never came. The kernel numbers events, but does not
 * always count the events that it drops: without `audit=1` on its command line, a record that twice
 * found the agent's socket full is lost and not counted. All 0: no event has come yet.
 */
struct kaudit_serials {
	bool begun;
	uint64_t settled; /* the events up to this number were counted */
	uint64_t mark;	  /* the highest number at the last kaudit_events_settle() */
	uint64_t highest;
	uint64_t seen, seen_later; /* events seen up to the mark, and above it */
};

struct kaudit_events {
	struct kaudit_event open[KAUDIT_EVENTS];
	/* The number of events that lack a needed record, or that never came. The owner reads this
	 * number and sets it to 0. */
	uint64_t lost;
	struct kaudit_serials serials;
	void (*done)(void *data, const struct kaudit_event *event);
	void *data;
};

/* Takes a record. `type` is its netlink message type. Skips records that do not come from the
 * agent's rules. */
void kaudit_events_take(struct kaudit_events *events, unsigned type, const char *text, size_t len);
/* Counts the events whose numbers were below the highest at the last call, and that have not come
 * since. An event of one processor may come after a later event of another, so calls must be about
 * a second apart. */
void kaudit_events_settle(struct kaudit_events *events);
/* Hands on the events that are still incomplete, as they are. */
void kaudit_events_flush(struct kaudit_events *events);
void kaudit_events_free(struct kaudit_events *events);

#endif
