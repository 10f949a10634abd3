/* SPDX-License-Identifier: MIT */
/*
 * Assembles events of the kernel's audit from their records. All records of an event have the same
 * serial number. Records of different events may come in any order. The last record of an event has
 * the type AUDIT_EOE. If this record was lost, the event is passed to done() incomplete, when
 * another event needs its entry. The functions are pure, and use a limited amount of memory for any
 * records.
 */
#ifndef GUEST_KAUDIT_EVENT_H
#define GUEST_KAUDIT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The keys of the agent's rules (kaudit_link.c). The kernel puts the key of a rule into each event
 * that the rule has recorded. The last four keys are for system calls that open a file. Each of
 * these four keys also says where the call has its flags. */
#define KAUDIT_KEY_EXEC "exec"
#define KAUDIT_KEY_CONNECT "connect"
#define KAUDIT_KEY_OPEN "open"	     /* the second argument of the call has the flags */
#define KAUDIT_KEY_OPENAT "openat"   /* the third argument of the call has the flags */
#define KAUDIT_KEY_OPENAT2 "openat2" /* a separate record of the event has the flags */
#define KAUDIT_KEY_CREAT "creat"     /* creat() has no argument with flags */

/* The largest number of words of an argv that are kept, and about how many bytes these words may
 * have as JSON. */
#define KAUDIT_ARGV_BYTES 32768
#define KAUDIT_ARGV_WORDS 1000
#define KAUDIT_PATH_BYTES 4096
/* The largest number of events that may be incomplete at the same time. */
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
	struct buf argv; /* the kept words, with a NUL between two words */
	unsigned words;	 /* the number of words in `argv` */
	uint64_t argc;	 /* the number of words of the program's argv */
	size_t argv_cost;
	bool truncated; /* words, or the last bytes of words, are missing in `argv` */
	/* The members below are for OPEN. */
	bool openat;
	uint64_t flags, dirfd;
	/* The working directory and the file's path. `path` is as the program has given it until
	 * the event is complete. Then `path` is made absolute. */
	struct buf cwd, path;
	/* If has_parent is true, `path` is the path of the file's directory, because no record has
	 * named the file itself yet. */
	bool has_path, has_parent;
	/* The file's data, as in struct stat. mode is 0 if the file does not exist. */
	uint64_t mode, inode, major, minor;
	/* The members below are for CONNECT. */
	uint8_t address[28]; /* the address, a struct sockaddr_in or sockaddr_in6 */
	size_t address_len;
};

/*
 * Counts the events that have not come. The kernel numbers its events, but does not count all
 * events that it drops. Without `audit=1` on the kernel's command line, it does not count a record
 * that it dropped because the receiver's socket was full two times. If all members are 0, no event
 * has come yet.
 */
struct kaudit_serials {
	bool begun;
	uint64_t settled; /* the serial number up to which lost events were counted */
	uint64_t mark;	  /* the highest serial number at the last kaudit_events_settle() */
	uint64_t highest;
	/* How many events have come with a number up to `mark`, and how many with a higher
	 * number. */
	uint64_t seen, seen_later;
};

struct kaudit_events {
	struct kaudit_event open[KAUDIT_EVENTS];
	/* How many events have not come, or have come without a record that is needed. The caller
	 * reads this number and sets it to 0. */
	uint64_t lost;
	struct kaudit_serials serials;
	void (*done)(void *data, const struct kaudit_event *event);
	void *data;
};

/* Takes one record. `type` is the record's netlink message type. Ignores records that are not from
 * the agent's rules. */
void kaudit_events_take(struct kaudit_events *events, unsigned type, const char *text, size_t len);
/* Counts the lost events. An event is lost if it has not come and its number is not above the
 * highest number at the last call. Events of different processors may come in another order than
 * their numbers. So there must be about a second between two calls. */
void kaudit_events_settle(struct kaudit_events *events);
/* Passes all events that are still incomplete to done(), without the records that are missing. */
void kaudit_events_flush(struct kaudit_events *events);
void kaudit_events_free(struct kaudit_events *events);

#endif
