/* SPDX-License-Identifier: MIT */
/*
 * Puts events of the kernel's audit together from their records. The records of one event have one
 * serial number; records of events on several processors come mixed. An event ends with a record of
 * its own. If that record was lost, the event is handed on, as far as it is known, when its place
 * is needed. It is pure, and its memory is bounded whatever comes.
 */
#ifndef GUEST_KAUDIT_EVENT_H
#define GUEST_KAUDIT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The keys of the agent's rules (kaudit_link.c), with which the kernel marks the events. All but
 * the first two name a way in which open's flags are given. */
#define KAUDIT_KEY_EXEC "exec"
#define KAUDIT_KEY_CONNECT "connect"
#define KAUDIT_KEY_OPEN "open"	     /* in the second argument */
#define KAUDIT_KEY_OPENAT "openat"   /* in the third */
#define KAUDIT_KEY_OPENAT2 "openat2" /* in a record of their own */
#define KAUDIT_KEY_CREAT "creat"     /* not at all */

/* About how many bytes of JSON, and how many words, are kept of an argv. */
#define KAUDIT_ARGV_BYTES 32768
#define KAUDIT_ARGV_WORDS 1000
#define KAUDIT_PATH_BYTES 4096
/* The most events at once whose end has not come. */
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
	struct buf cwd, path;	   /* path: as the program named it, until the event is complete */
	bool has_path, has_parent; /* has_parent: path is the directory, until the file is named */
	uint64_t mode, inode, major, minor; /* mode 0: there is no such file */
	/* For CONNECT: */
	uint8_t address[28]; /* struct sockaddr_in or sockaddr_in6 */
	size_t address_len;
};

/*
 * Counts events that the kernel made and that never came. The kernel numbers events, but does not
 * always count those that it drops on the way: without `audit=1` on its command line, a record that
 * twice found the agent's socket full is lost without notice. Zeroed: none seen yet.
 */
struct kaudit_serials {
	bool begun;
	uint64_t settled; /* for events up to here it is known which have come */
	uint64_t mark;	  /* the highest number at the last settling */
	uint64_t highest;
	uint64_t seen, seen_later; /* events seen up to the mark, and above it */
};

struct kaudit_events {
	struct kaudit_event open[KAUDIT_EVENTS];
	/* Events that were begun and lack what they tell of, or that never came. The owner reads
	 * and clears it. */
	uint64_t lost;
	struct kaudit_serials serials;
	void (*done)(void *data, const struct kaudit_event *event);
	void *data;
};

/* Takes a record. type is its netlink message type. Skips records that are not of the agent's
 * rules. */
void kaudit_events_take(struct kaudit_events *events, unsigned type, const char *text, size_t len);
/* Counts the events that were expected at the last call and have not come until now. Events of one
 * processor may overtake those of another, so calls must be about a second apart. */
void kaudit_events_settle(struct kaudit_events *events);
/* Hands on the events that wait for their end. */
void kaudit_events_flush(struct kaudit_events *events);
void kaudit_events_free(struct kaudit_events *events);

#endif
