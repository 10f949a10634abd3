/* SPDX-License-Identifier: MIT */
/*
 * A broker: a process that keeps rights for another process, its client ("asker" in names). The
 * client gives up these rights because it parses data that may be hostile. The broker is forked
 * from the client while the client is still trusted, so the broker has all data that the client had
 * at that time. Afterwards the broker carries out a few fixed duties when the client asks it to. An
 * attacker may have gained control of the client. So each duty checks the question against the
 * broker's own data, and against the descriptors that are passed with the question.
 *
 * The two processes end together. The client is the broker's parent, and the death of the client
 * kills the broker. The client notices the exit of the broker through the broker's pidfd.
 *
 * In a process without a broker, each module itself does the work that a broker would do. A module
 * calls broker_is_asked() to find out if there is a broker.
 */
#ifndef BASE_BROKER_H
#define BASE_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/proc.h"

/* The largest size of a question or an answer, in bytes. The longest question contains a line of
 * the security log. */
#define BROKER_BYTES ((size_t)65 * 1024)

struct broker_message {
	size_t len, nfds;
	int fds[FD_PASS_MAX];
	char bytes[BROKER_BYTES + 1]; /* the bytes of the message; in a received message a NUL
				       * follows them */
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
	const struct broker_row *rows; /* the table of the duties, which must stay valid until the
				        * broker exits */
	size_t count;
	const int *keep; /* descriptors that the broker needs; the broker closes all other
			  * descriptors */
	size_t nkeep;
	void (*begin)(void *data); /* a function that the broker calls before it answers the first
				    * question; may be NULL */
	void *data;
};

/* Forks the broker, which *out then describes. From now on the modules of this process ask the
 * broker. */
int broker_start(const struct broker_spec *spec, struct proc *out, struct error *err);
/* Closes the socket to the broker, so that the broker exits, and reaps the broker. But if
 * broker_end_asker() was called in the broker, the broker exits only when this process exits. Then
 * this function does not wait for the broker. Accepts PROC_NONE. */
void broker_end(struct proc *broker);

/* Returns true if this process has a broker that it can ask. */
bool broker_is_asked(void);
/* Asks the broker to carry out a duty, and waits for the answer. The caller closes the descriptors
 * of the answer. `out` may be NULL if the answer has no content. If the duty fails, *err is the
 * error of the duty. */
int broker_ask(const struct broker_duty *duty, const struct broker_message *in,
	       struct broker_message *out, struct error *err);

/* Returns the pid of the client, if this process is a broker; 0 in any other process. */
pid_t broker_asker(void);
/* Forbids all duties, from now on, to open a connection out of the machine. A duty calls this
 * function when the machine is put into quarantine. */
void broker_cut_ways(void);
/* Returns -1 with ERR_CONFLICT after broker_cut_ways() was called, otherwise 0. Each duty that
 * opens a connection out of the machine calls this function first. */
int broker_check_ways(struct error *err);
/* Makes the client exit. Only a duty may call this function. A client that has not exited at the
 * deadline (on clock_mono_ns()) is killed, even if the broker is then busy with another duty. The
 * broker exits with the client. If the function is called more than once, the earliest deadline is
 * used. */
void broker_end_asker(uint64_t deadline_ns);
/* Makes the broker answer no further question. The broker's last duty calls this function. */
void broker_take_no_more(void);
/* Returns true if the process `pid` descends from the client, and is neither the client nor the
 * broker. Only duties may call this function. */
bool broker_knows(pid_t pid);

#endif
