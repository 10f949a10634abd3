/* SPDX-License-Identifier: MIT */
/*
 * A broker: a process that keeps the rights of one that gives them up, because it parses what may
 * be hostile. It is forked from it while that is still trusted, so that it knows all that was known
 * then, and from there on it does a few fixed things when it is asked to. Who asks may have been
 * taken over: each duty checks what it is asked by what the broker itself knows, and by what it is
 * given as a descriptor.
 *
 * The two end together. Whoever asks is the broker's parent, and its death is the broker's; when
 * the broker ends, its pidfd tells.
 *
 * Where there is no broker each module does the same by its own hand: broker_is_asked() tells.
 */
#ifndef BASE_BROKER_H
#define BASE_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/proc.h"

/* A line of the security log is the longest that is asked. */
#define BROKER_BYTES ((size_t)65 * 1024)

struct broker_message {
	size_t len, nfds;
	int fds[FD_PASS_MAX];
	char bytes[BROKER_BYTES + 1]; /* a NUL is behind what came */
};

/* In the broker. The descriptors of `in` are closed afterwards, those of `out` too. */
typedef int broker_fn(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err);

struct broker_duty {
	broker_fn *fn;
};

struct broker_row {
	const struct broker_duty *duty;
	void *data;
	const char *reason; /* for which there is this duty */
};

struct broker_spec {
	const struct broker_row *rows; /* to be there for ever */
	size_t count;
	const int *keep; /* descriptors that the broker needs; it closes all others */
	size_t nkeep;
	void (*begin)(void *data); /* in the broker, first of all */
	void *data;
};

/* Forks it. From now on the modules of this process ask. */
int broker_start(const struct broker_spec *spec, struct proc *out, struct error *err);
/* Closes the socket, at which the broker ends, and reaps it. After broker_end_asker() the broker ends only
 * when this process does, and is not waited for. Accepts PROC_NONE. */
void broker_end(struct proc *broker);

/* Is there one to be asked? */
bool broker_is_asked(void);
/* Asks and waits for the answer, whose descriptors are the caller's. out may be NULL where none is
 * meant. The error is the duty's own. */
int broker_ask(const struct broker_duty *duty, const struct broker_message *in,
	       struct broker_message *out, struct error *err);

/* In the broker: who asks; 0 in any other process. */
pid_t broker_asker(void);
/* In the broker, when the machine is cut off: no duty opens a way out of it from now on. */
void broker_cut_ways(void);
/* In a duty that opens a way: -1 with ERR_CONFLICT once the ways are cut. */
int broker_check_ways(struct error *err);
/* In a duty of the end of who asks: it is killed at the deadline (monotonic), unless it has ended by
 * then, whatever the broker does meanwhile, and the broker ends with it. Of two deadlines the
 * earlier one holds. */
void broker_end_asker(uint64_t deadline_ns);
/* In a duty after which nothing is left to be done: no other question is taken. */
void broker_take_no_more(void);
/* In the broker: does the process descend from who asks, and is it neither that nor we? */
bool broker_knows(pid_t pid);

#endif
