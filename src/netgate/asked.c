/* SPDX-License-Identifier: MIT */
#include "netgate/asked.h"

#include "netgate/dns_answer.h"

void asked_note(struct asked *asked, uint16_t port, const struct dns_question *question)
{
	asked->of[asked->next] = (struct asked_question){true, port, *question};
	asked->next = (asked->next + 1) % ASKED_MAX;
}

bool asked_take(struct asked *asked, uint16_t port, struct bytes datagram,
		struct dns_question *question)
{
	for (size_t i = 0; i < ASKED_MAX; i++) {
		struct asked_question *a = &asked->of[i];

		if (a->waits && a->port == port && a->question.id == u16(datagram, 0) &&
		    dns_answers(datagram, &a->question)) {
			a->waits = false;
			*question = a->question;
			return true;
		}
	}
	return false;
}
