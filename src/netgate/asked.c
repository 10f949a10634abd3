/* SPDX-License-Identifier: MIT */
#include "netgate/asked.h"

#include "netgate/dns_answer.h"

static bool is_waiting(const struct asked *asked, const struct asked_question *a, uint64_t now)
{
	return a->since && now - a->since <= asked->patience_ns;
}

/* Returns true if an answer to question a would also be an answer to question b. */
static bool is_same_question(const struct dns_question *a, const struct dns_question *b)
{
	return a->type == b->type && a->class == b->class && a->room == b->room &&
	       host_name_equal(&a->name, &b->name);
}

/* Returns true if two questions come from the same program of the guest: both have the same number
 * and source port, since the program has sent its question again. */
static bool is_same_asker(const struct asker *a, const struct asker *b)
{
	return a->id == b->id && a->port == b->port;
}

static struct asked_question *place_to_take(struct asked *asked)
{
	struct asked_question *place = &asked->of[asked->next];

	asked->next = (asked->next + 1) % ASKED_MAX;
	return place;
}

bool asked_join(struct asked *asked, const struct dns_question *question, const struct asker *asker,
		uint64_t now)
{
	const struct asked_question *other = NULL;

	for (size_t i = 0; i < ASKED_MAX; i++) {
		const struct asked_question *a = &asked->of[i];

		if (!is_waiting(asked, a, now) || !is_same_question(&a->question, question))
			continue;
		if (is_same_asker(&a->asker, asker) || now - a->since >= asked->again_ns)
			return false;
		other = a;
	}
	if (!other)
		return false;
	/* The new entry keeps the time and the count of wrong answers of the old entry. So a
	 * program that asks later waits no longer than the program that asked first. */
	struct asked_question joined = *other;
	joined.asker = *asker;
	*place_to_take(asked) = joined;
	return true;
}

void asked_note(struct asked *asked, const struct asked_question *question)
{
	struct asked_question *place = NULL;

	for (size_t i = 0; i < ASKED_MAX && !place; i++) {
		struct asked_question *a = &asked->of[i];

		if (a->since && is_same_question(&a->question, &question->question) &&
		    is_same_asker(&a->asker, &question->asker))
			place = a;
	}
	*(place ? place : place_to_take(asked)) = *question;
}

void asked_move(struct asked *asked, const struct asked_question *question)
{
	for (size_t i = 0; i < ASKED_MAX; i++) {
		struct asked_question *a = &asked->of[i];

		if (!is_waiting(asked, a, question->since) ||
		    !is_same_question(&a->question, &question->question))
			continue;
		a->question.id = question->question.id;
		a->port = question->port;
		a->since = question->since;
		a->wrong = 0;
	}
}

size_t asked_take(struct asked *asked, uint16_t port, struct bytes datagram, uint64_t now,
		  const struct asked_question *taken[ASKED_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < ASKED_MAX; i++) {
		struct asked_question *a = &asked->of[i];

		if (!is_waiting(asked, a, now) || a->port != port ||
		    !dns_answers(datagram, &a->question))
			continue;
		/* Questions with and without EDNS differ, but may have the same number and port by
		 * chance. */
		if (count && !is_same_question(&a->question, &taken[0]->question))
			continue;
		a->since = 0;
		taken[count++] = a;
	}
	return count;
}

void asked_count_wrong(struct asked *asked, uint16_t port, uint64_t now)
{
	for (size_t i = 0; i < ASKED_MAX; i++) {
		struct asked_question *a = &asked->of[i];

		if (is_waiting(asked, a, now) && a->port == port && ++a->wrong >= ASKED_WRONG_MAX)
			a->since = 0;
	}
}
