/* SPDX-License-Identifier: MIT */
/*
 * The DNS questions that netgate has sent to the resolver and that wait for their answers. The
 * table never grows: a new question replaces the oldest question. The program of the guest that has
 * sent the oldest question then gets no answer.
 *
 * netgate draws the number (the ID of the DNS message) and the source port of each question at
 * random, and the guest does not learn them. An attacker who does not see the question cannot forge
 * an answer to it, even if the guest helps the attacker. All programs of the guest that ask the
 * same question wait for the same answer. If the question was sent several times with different
 * numbers, an attacker would have several chances to guess a number (RFC 5452, 5). In a dry run the
 * guest's own questions are sent, with the numbers and ports that the guest has chosen.
 */
#ifndef NETGATE_ASKED_H
#define NETGATE_ASKED_H

#include "netgate/dns.h"

#define ASKED_MAX 128
#define ASKED_WRONG_MAX 3 /* a question is given up after this number of wrong answers */

/* The values that a program of the guest has written in its question. netgate's answer to the guest
 * has these values too. */
struct asker {
	uint16_t id, port;
	uint8_t name[DNS_NAME_MAX];
};

struct asked_question {
	uint64_t since; /* time in ns when the question was sent; 0: the question
				       * does not wait */
	uint16_t port;	/* the source port of the question */
	uint8_t wrong;	/* the number of wrong answers that have come to the port */
	/* The question, with the number under which netgate has sent it. */
	struct dns_question question;
	struct asker asker;
};

struct asked {
	uint64_t patience_ns; /* how long a question waits for its answer, in ns */
	/* The time in ns after a question was sent, in which the question is not sent again for
	 * another program of the guest. */
	uint64_t again_ns;
	size_t next; /* the index of the entry that a new question takes */
	struct asked_question of[ASKED_MAX];
};

/* If the same question was sent for another program of the guest less than again_ns ago, makes
 * `asker` wait for the answer to that question and returns true. Returns false if no such question
 * was sent, or if `asker` already waits for the answer to that question. After false the caller
 * must send the question. */
bool asked_join(struct asked *asked, const struct dns_question *question, const struct asker *asker,
		uint64_t now);
/* Puts `question`, which the caller sends, into the table. If the same program of the guest already
 * waits for an answer to the same question, the new entry replaces the old entry. */
void asked_note(struct asked *asked, const struct asked_question *question);
/* Makes all programs of the guest that wait for an answer to the same question wait for the answer
 * to `question` instead. Called when `question` is sent. */
void asked_move(struct asked *asked, const struct asked_question *question);
/* Finds the entries whose question is answered by the message `datagram`, which came to the port
 * `port`. Removes these entries from the table, stores pointers to them in `taken`, and returns
 * their number. All these entries have the same question. The pointers are valid until asked_note()
 * or asked_join() is called. */
size_t asked_take(struct asked *asked, uint16_t port, struct bytes datagram, uint64_t now,
		  const struct asked_question *taken[ASKED_MAX]);
/* Counts a message that came to the port `port` and answers no question: an attacker may be
 * guessing numbers. After ASKED_WRONG_MAX such messages, the questions that were sent from this
 * port no longer wait for an answer. */
void asked_count_wrong(struct asked *asked, uint16_t port, uint64_t now);

#endif
