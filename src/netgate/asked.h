/* SPDX-License-Identifier: MIT */
/*
 * The questions that netgate has sent on and that wait for their answers. The table never grows:
 * the oldest question makes room for a new one, and the asker of the oldest question then gets no
 * answer.
 *
 * netgate draws the number and the source port of each question at random, and the guest does not
 * learn them. So an attacker cannot forge an answer to a question that the attacker does not see,
 * whatever the attacker and the guest have agreed upon. All askers of the same question wait for
 * one answer: several questions with different numbers would be several chances to guess a number
 * (RFC 5452, 5).
 */
#ifndef NETGATE_ASKED_H
#define NETGATE_ASKED_H

#include "netgate/dns.h"

#define ASKED_MAX 128
#define ASKED_WRONG_MAX 3 /* wrong answers after which a question stops waiting */

/* What the guest wrote in its question. The answer repeats these values to the guest. */
struct asker {
	uint16_t id, port;
	uint8_t name[DNS_NAME_MAX];
};

struct asked_question {
	uint64_t since;		      /* ns, when the question left; 0: not waiting */
	uint16_t port;		      /* the port from which the question left */
	uint8_t wrong;		      /* wrong answers that came to that port */
	struct dns_question question; /* with the number under which the question left */
	struct asker asker;
};

struct asked {
	uint64_t patience_ns; /* how long a question waits */
	uint64_t again_ns;    /* how long the same question is not sent again for another asker */
	size_t next;
	struct asked_question of[ASKED_MAX];
};

/* Adds the asker to a question that has left a moment ago for another asker. Returns false if there
 * is no such question, or if the same asker has asked it before: the caller then has to send the
 * question. */
bool asked_join(struct asked *asked, const struct dns_question *question, const struct asker *asker,
		uint64_t now);
/* Notes a question that leaves. If its asker already waits for an answer to the same question, the
 * new entry replaces the old one. */
void asked_note(struct asked *asked, const struct asked_question *question);
/* Makes everybody who waits for an answer to the same question wait for the answer to this one. */
void asked_move(struct asked *asked, const struct asked_question *question);
/* Removes the questions that a message to that port answers from the table, and returns how many
 * there were. They are all the same question. The pointers in `taken` are valid until a question is
 * noted. */
size_t asked_take(struct asked *asked, uint16_t port, struct bytes datagram, uint64_t now,
		  const struct asked_question *taken[ASKED_MAX]);
/* Counts a message of the resolver to that port that answers no question: somebody may be
 * guessing. */
void asked_count_wrong(struct asked *asked, uint16_t port, uint64_t now);

#endif
