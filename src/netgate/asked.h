/* SPDX-License-Identifier: MIT */
/* Questions that were let through and wait for their answers; the oldest makes room. */
#ifndef NETGATE_ASKED_H
#define NETGATE_ASKED_H

#include "netgate/dns.h"

#define ASKED_MAX 128

struct asked_question {
	bool waits;
	uint16_t port; /* the guest's */
	struct dns_question question;
};

struct asked {
	size_t next;
	struct asked_question of[ASKED_MAX];
};

void asked_note(struct asked *asked, uint16_t port, const struct dns_question *question);
/* The one that this message to that port answers, once; false: none does. */
bool asked_take(struct asked *asked, uint16_t port, struct bytes datagram,
		struct dns_question *question);

#endif
