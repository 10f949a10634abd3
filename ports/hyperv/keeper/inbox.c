/* SPDX-License-Identifier: MIT */
#include "hyperv/keeper/inbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

struct letter {
	struct letter *next;
	struct notice notice;
};

struct inbox {
	CRITICAL_SECTION lock;
	CONDITION_VARIABLE came;
	struct letter *first, **last;
};

struct inbox *inbox_new(struct error *err)
{
	struct inbox *inbox = calloc(1, sizeof(*inbox));

	if (!inbox) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	InitializeCriticalSection(&inbox->lock);
	InitializeConditionVariable(&inbox->came);
	inbox->last = &inbox->first;
	return inbox;
}

void inbox_post(struct inbox *inbox, enum notice_kind kind, json_t *message, const char *why)
{
	struct letter *letter = calloc(1, sizeof(*letter));

	/* Aborts if there is no memory, since the live supervisor cannot work without this notice.
	 * The machine then ends together with the live supervisor. */
	if (!letter)
		abort();
	letter->notice.kind = kind;
	letter->notice.message = message;
	snprintf(letter->notice.why, sizeof(letter->notice.why), "%s", why ? why : "");
	EnterCriticalSection(&inbox->lock);
	*inbox->last = letter;
	inbox->last = &letter->next;
	LeaveCriticalSection(&inbox->lock);
	WakeConditionVariable(&inbox->came);
}

static DWORD until(uint64_t deadline)
{
	uint64_t now = clock_mono_ns();

	if (deadline == UINT64_MAX)
		return INFINITE;
	return deadline <= now ? 0 : (DWORD)((deadline - now) / NS_PER_MS + 1);
}

struct notice inbox_take(struct inbox *inbox, uint64_t deadline)
{
	struct notice notice = {.kind = NOTICE_NOTHING};
	struct letter *letter;

	EnterCriticalSection(&inbox->lock);
	while (!inbox->first) {
		DWORD ms = until(deadline);

		if (!ms || (!SleepConditionVariableCS(&inbox->came, &inbox->lock, ms) &&
			    !inbox->first && !until(deadline)))
			break;
	}
	letter = inbox->first;
	if (letter) {
		inbox->first = letter->next;
		if (!inbox->first)
			inbox->last = &inbox->first;
	}
	LeaveCriticalSection(&inbox->lock);
	if (letter)
		notice = letter->notice;
	free(letter);
	return notice;
}
