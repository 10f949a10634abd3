/* SPDX-License-Identifier: MIT */
/*
 * Questions that have left and wait for their answers. Their table never grows: the oldest question
 * makes room, and whoever asked it gets no answer.
 *
 * A question leaves under a number and from a port that are drawn at random and that the guest does
 * not learn. So nobody can make an answer to a question that he does not see, whatever he and the
 * guest have agreed upon. Everybody who asks the same question waits for one answer: several
 * questions with numbers of their own would be several chances to guess one (RFC 5452, 5).
 */
#ifndef NETGATE_ASKED_H
#define NETGATE_ASKED_H

#include "netgate/dns.h"

#define ASKED_MAX 128
#define ASKED_WRONG_MAX 3 /* wrong answers, after which a question waits no more */

/* What the guest wrote in its question, and gets back in the answer. */
struct asker {
	uint16_t id, port;
	uint8_t name[DNS_NAME_MAX];
};

struct asked_question {
	uint64_t since;		      /* ns, when the question left; 0: it waits for no answer */
	uint16_t port;		      /* from which it has left */
	uint8_t wrong;		      /* wrong answers that came to that port */
	struct dns_question question; /* with the number under which it left */
	struct asker asker;
};

struct asked {
	uint64_t patience_ns; /* how long a question waits */
	uint64_t again_ns;    /* how long a question that has left does not leave for others */
	size_t next;
	struct asked_question of[ASKED_MAX];
};

/* Notes the asker as one who waits for an answer to a question that has left for somebody else just
 * now. False: there is no such question, or the asker has asked it before, and it is to leave. */
bool asked_join(struct asked *asked, const struct dns_question *question, const struct asker *asker,
		uint64_t now);
/* Notes a question that leaves. If its asker waits for an answer to the same question already, that
 * one is forgotten. */
void asked_note(struct asked *asked, const struct asked_question *question);
/* Makes everybody who waits for an answer to the same question wait for the answer to this one. */
void asked_move(struct asked *asked, const struct asked_question *question);
/* Takes the questions that a message to that port answers out of the table, and returns their
 * number. All are the same question. The pointers in `taken` are valid until a question is noted.
 */
size_t asked_take(struct asked *asked, uint16_t port, struct bytes datagram, uint64_t now,
		  const struct asked_question *taken[ASKED_MAX]);
/* Counts a message of the resolver's to that port that answers no question: somebody may be
 * guessing. */
void asked_count_wrong(struct asked *asked, uint16_t port, uint64_t now);

#endif
