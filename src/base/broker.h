/* SPDX-License-Identifier: MIT */
/*
 * A broker: a process that keeps the rights which another process, the asker, gives up because it
 * parses data that may be hostile. The broker is forked from the asker while the asker is still
 * trusted, so it knows everything that was known then. From then on it carries out a few fixed
 * duties when it is asked to. An attacker may control the asker: each duty checks the question
 * against what the broker itself knows, and against the descriptors that come with the question.
 *
 * The two processes end together. The asker is the broker's parent, and its death kills the broker;
 * the asker sees the end of the broker at its pidfd.
 *
 * Without a broker each module does the same work itself: broker_is_asked() says which is the case.
 */
#ifndef BASE_BROKER_H
#define BASE_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/proc.h"

/* The largest question. The longest question is a line of the security log. */
#define BROKER_BYTES ((size_t)65 * 1024)

struct broker_message {
	size_t len, nfds;
	int fds[FD_PASS_MAX];
	char bytes[BROKER_BYTES + 1]; /* a NUL follows the bytes that came */
};

/* A function that carries out a duty in the broker. The descriptors of `in` and of `out` are closed
 * afterwards. */
typedef int broker_fn(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err);

struct broker_duty {
	broker_fn *fn;
};

struct broker_row {
	const struct broker_duty *duty;
	void *data;
	const char *reason; /* why this duty exists */
};

struct broker_spec {
	const struct broker_row *rows; /* must stay valid until the broker ends */
	size_t count;
	const int *keep; /* descriptors that the broker needs; it closes all others */
	size_t nkeep;
	void (*begin)(void *data); /* called in the broker, before anything else */
	void *data;
};

/* Forks the broker. From now on the modules of this process ask it. */
int broker_start(const struct broker_spec *spec, struct proc *out, struct error *err);
/* Closes the socket, which makes the broker end, and reaps the broker. After broker_end_asker() the
 * broker ends only when this process does, and this call does not wait for it. Accepts
 * PROC_NONE. */
void broker_end(struct proc *broker);

/* Returns whether there is a broker that can be asked. */
bool broker_is_asked(void);
/* Asks and waits for the answer. The caller closes the descriptors of the answer. out may be NULL
 * if the answer has no content. The error is the duty's own. */
int broker_ask(const struct broker_duty *duty, const struct broker_message *in,
	       struct broker_message *out, struct error *err);

/* Returns the pid of the asker, if this process is a broker; 0 in any other process. */
pid_t broker_asker(void);
/* Called in the broker when the machine is cut off: no duty opens a way out of the machine from now
 * on. */
void broker_cut_ways(void);
/* Called in a duty that opens a way. Returns -1 with ERR_CONFLICT once the ways are cut. */
int broker_check_ways(struct error *err);
/* Called in a duty that ends the asker. The asker is killed at the deadline (monotonic) unless it
 * has ended by then, whatever the broker does meanwhile, and the broker ends with it. If there are
 * two deadlines, the earlier one holds. */
void broker_end_asker(uint64_t deadline_ns);
/* Called in a duty after which nothing is left to do: the broker takes no other question. */
void broker_take_no_more(void);
/* Called in the broker. Returns whether the process descends from the asker, and is neither the
 * asker nor the broker. */
bool broker_knows(pid_t pid);

#endif
