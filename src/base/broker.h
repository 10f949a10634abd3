/* SPDX-License-Identifier: MIT */
/*
 * A broker: a process that keeps rights for another process, the asker. The asker gives up these
 * rights because it parses data that may be hostile. The broker is forked from the asker while the
 * asker is still trusted, so the broker knows all that the asker knew at that time. From then on
 * the broker carries out a few fixed duties when the asker asks it to. An attacker may have taken
 * over the asker. So each duty checks the question against the knowledge of the broker itself, and
 * against the descriptors that come with the question.
 *
 * The two processes end together. The asker is the broker's parent, and the death of the asker
 * kills the broker. The asker notices the end of the broker by the broker's pidfd.
 *
 * In a process without a broker each module does the broker's work itself. A module asks
 * broker_is_asked() whether there is a broker.
 */
#ifndef BASE_BROKER_H
#define BASE_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/proc.h"

/* The largest size of a question, in bytes. The longest question contains a line of the security
 * log. */
#define BROKER_BYTES ((size_t)65 * 1024)

struct broker_message {
	size_t len, nfds;
	int fds[FD_PASS_MAX];
	char bytes[BROKER_BYTES + 1]; /* the bytes of the message; a received message has a NUL
				       * behind them */
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
	void *data;	    /* the first argument of duty->fn */
	const char *reason; /* the reason why this duty exists */
};

struct broker_spec {
	const struct broker_row *rows; /* the duties, which must stay valid until the broker ends */
	size_t count;
	const int *keep; /* descriptors that the broker needs; the broker closes all other
			  * descriptors */
	size_t nkeep;
	void (*begin)(void *data); /* a function that the broker calls before it answers the first
				    * question; may be NULL */
	void *data;
};

/* Forks the broker. From now on the modules of this process ask the broker. */
int broker_start(const struct broker_spec *spec, struct proc *out, struct error *err);
/* Closes the socket to the broker, so that the broker ends, and reaps the broker. If
 * broker_end_asker() was called in the broker, the broker ends only when this process ends. In this
 * case the call does not wait for the broker. Accepts PROC_NONE. */
void broker_end(struct proc *broker);

/* Returns whether this process has a broker that it asks. */
bool broker_is_asked(void);
/* Asks the broker for a duty, and waits for the answer. The caller closes the descriptors of the
 * answer. `out` may be NULL if the answer has no content. If the duty fails, *err is the error of
 * the duty. */
int broker_ask(const struct broker_duty *duty, const struct broker_message *in,
	       struct broker_message *out, struct error *err);

/* Returns the pid of the asker, if this process is a broker; 0 in any other process. */
pid_t broker_asker(void);
/* Forbids all duties to open a way out of the machine, from now on. A duty calls this function when
 * the machine is put into quarantine. */
void broker_cut_ways(void);
/* Returns -1 with ERR_CONFLICT after broker_cut_ways(). Each duty that opens a way out of the
 * machine calls this function first. */
int broker_check_ways(struct error *err);
/* Makes the asker end. Only a duty may call this function. If the asker has not ended at the
 * deadline (on clock_mono_ns()), the asker is killed, even if the broker is busy with another duty.
 * The broker ends with the asker. After more than one call, the earliest deadline counts. */
void broker_end_asker(uint64_t deadline_ns);
/* Makes the broker answer no further question. The last duty of the broker calls this function. */
void broker_take_no_more(void);
/* Returns whether the process `pid` descends from the asker, and is neither the asker nor the
 * broker. Only duties may call this function. */
bool broker_knows(pid_t pid);

#endif
