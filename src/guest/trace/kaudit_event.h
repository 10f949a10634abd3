/* SPDX-License-Identifier: MIT */
/*
 * Assembles events of the kernel's audit from their records. All records of an event have the same
 * serial number. Records of several events may come mixed. A special record ends an event. If that
 * record was lost, the event is handed on incomplete when another event needs its entry. The
 * functions are pure, and their memory is bounded, whatever the records are.
 */
#ifndef GUEST_KAUDIT_EVENT_H
#define GUEST_KAUDIT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The keys of the agent's rules (kaudit_link.c). The kernel puts the key of a rule into each event
 * that the rule has recorded. The last four keys are for calls that open a file. They also say
 * where such a call has its flags. */
#define KAUDIT_KEY_EXEC "exec"
#define KAUDIT_KEY_CONNECT "connect"
#define KAUDIT_KEY_OPEN "open"	     /* the second argument of the call has the flags */
#define KAUDIT_KEY_OPENAT "openat"   /* the third argument of the call has the flags */
#define KAUDIT_KEY_OPENAT2 "openat2" /* a separate record of the event has the flags */
#define KAUDIT_KEY_CREAT "creat"     /* the call has no flags */

/* The most bytes of JSON (more or less) and the most words that are kept of an argv. */
#define KAUDIT_ARGV_BYTES 32768
#define KAUDIT_ARGV_WORDS 1000
#define KAUDIT_PATH_BYTES 4096
/* The most events that may be incomplete at one time. */
#define KAUDIT_EVENTS 16

enum kaudit_kind { KAUDIT_EXEC, KAUDIT_OPEN, KAUDIT_CONNECT };

struct kaudit_event {
	bool used;
	uint64_t serial;
	int64_t real_ms;
	enum kaudit_kind kind;
	uint64_t pid, ppid, uid;
	int64_t exit; /* the result of the system call; a value below 0 is a negative errno */
	struct buf exe;
	/* The members below are for EXEC. */
	struct buf argv; /* the words that were kept, with a NUL between two of them */
	unsigned words;	 /* the number of words in `argv` */
	uint64_t argc;	 /* the number of words that the program got */
	size_t argv_cost;
	bool truncated; /* words, or ends of words, are missing in `argv` */
	/* The members below are for OPEN. */
	bool openat;
	uint64_t flags, dirfd;
	/* The working directory and the file's path. Until the event is complete, `path` is as the
	 * program has given it. */
	struct buf cwd, path;
	/* has_parent: `path` is the directory of the file, and no record has named the file itself
	 * yet. */
	bool has_path, has_parent;
	/* Facts about the file; mode is 0 if the file does not exist. */
	uint64_t mode, inode, major, minor;
	/* The members below are for CONNECT. */
	uint8_t address[28]; /* a struct sockaddr_in or sockaddr_in6 */
	size_t address_len;
};

/*
 * Counts the events that the kernel has made and that have not come. The kernel numbers its events,
 * but does not count all events that it drops. Without `audit=1` on the kernel's command line, a
 * record that found the agent's socket full twice is lost, and the kernel does not count it. If all
 * members are 0, no event has come yet.
 */
struct kaudit_serials {
	bool begun;
	uint64_t settled; /* the number up to which all events were counted */
	uint64_t mark;	  /* the highest number that had come at the last kaudit_events_settle() */
	uint64_t highest;
	/* The number of events that have come: up to the mark, and above the mark. */
	uint64_t seen, seen_later;
};

struct kaudit_events {
	struct kaudit_event open[KAUDIT_EVENTS];
	/* The number of events that lack a needed record or have not come at all. The owner reads
	 * this number and sets it to 0. */
	uint64_t lost;
	struct kaudit_serials serials;
	void (*done)(void *data, const struct kaudit_event *event);
	void *data;
};

/* Takes one record. `type` is its netlink message type. A record that does not come from the
 * agent's rules is skipped. */
void kaudit_events_take(struct kaudit_events *events, unsigned type, const char *text, size_t len);
/* Counts the lost events. These are events up to the number that was the highest at the last call,
 * which have not come since. The kernel may send an event of one processor after a later event of
 * another processor. So two calls must be about a second apart. */
void kaudit_events_settle(struct kaudit_events *events);
/* Hands on all events that are still incomplete, without the missing records. */
void kaudit_events_flush(struct kaudit_events *events);
void kaudit_events_free(struct kaudit_events *events);

#endif
