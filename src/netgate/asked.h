/* SPDX-License-Identifier: MIT */
/*
 * The DNS questions that netgate has sent to the resolver and that wait for their answers. The
 * table never grows: a new question takes the place of the oldest one, whose asker then gets no
 * answer.
 *
 * netgate draws the number and the source port of each question at random, and the guest does not
 * learn them. An attacker who does not see the question cannot forge an answer to it, even if the
 * guest helps the attacker. All askers of the same question wait for the same answer: if the
 * question was sent several times with different numbers, there would be several chances to guess a
 * number (RFC 5452, 5).
 */
#ifndef NETGATE_ASKED_H
#define NETGATE_ASKED_H

#include "netgate/dns.h"

#define ASKED_MAX 128
#define ASKED_WRONG_MAX 3 /* wrong answers after which a question stops waiting */

/* The values that the guest has written in its question. The answer to the guest has the same
 * values. */
struct asker {
	uint16_t id, port;
	uint8_t name[DNS_NAME_MAX];
};

struct asked_question {
	uint64_t since; /* time in ns when the question was sent; 0: the question
				       * does not wait */
	uint16_t port;	/* the source port of the question */
	uint8_t wrong;	/* number of wrong answers that have come to this port */
	/* The question, with the number under which netgate has sent it. */
	struct dns_question question;
	struct asker asker;
};

struct asked {
	uint64_t patience_ns; /* how long a question waits */
	/* The time after a question was sent in which it is not sent again for another asker. */
	uint64_t again_ns;
	size_t next; /* the entry that a new question takes */
	struct asked_question of[ASKED_MAX];
};

/* If the same question was sent for another asker less than again_ns ago, makes this asker wait for
 * its answer and returns true. Returns false if there is no such question, or if this asker has
 * asked it already: the caller then has to send the question. */
bool asked_join(struct asked *asked, const struct dns_question *question, const struct asker *asker,
		uint64_t now);
/* Notes a question that is sent. If its asker already waits for an answer to the same question, the
 * new entry replaces the old one. */
void asked_note(struct asked *asked, const struct asked_question *question);
/* Makes all askers that wait for an answer to the same question wait for the answer to `question`,
 * which is sent now. */
void asked_move(struct asked *asked, const struct asked_question *question);
/* Finds the entries whose question is answered by the message `datagram`, which came to this port.
 * Removes them from the table and stores them in `taken`. Returns their number. All of them have
 * the same question. The pointers in `taken` are valid until asked_note() or asked_join() is
 * called. */
size_t asked_take(struct asked *asked, uint16_t port, struct bytes datagram, uint64_t now,
		  const struct asked_question *taken[ASKED_MAX]);
/* Counts a message to this port that answers no question: an attacker may be guessing numbers.
 * After ASKED_WRONG_MAX such messages the questions that were sent from this port stop waiting. */
void asked_count_wrong(struct asked *asked, uint16_t port, uint64_t now);

#endif
