/* SPDX-License-Identifier: MIT */
#include "delivery.h"

#include <stdlib.h>

#include "text.h"

struct item {
	struct item *next;
	struct system *system;
	struct operation *operation;
	HCS_EVENT_TYPE type;
	WCHAR *document;
};

static struct item *items, **items_end = &items;
static CONDITION_VARIABLE items_came = CONDITION_VARIABLE_INIT;
static HANDLE deliverer;
static DWORD deliverer_id;
static struct system *being_told;

/* Calls the program's callback for a queued event or a finished operation. The caller holds the
 * lock, which is released while the callback runs. */
static void deliver_item(struct item *item)
{
	struct system *system = item->system;
	struct operation *operation = item->operation;
	HCS_EVENT event = {item->type, item->document, (HCS_OPERATION)operation};
	HCS_EVENT_CALLBACK tell = system && !system->closed ? system->callback : NULL;
	void *context = system ? system->context : NULL;
	HCS_OPERATION_COMPLETION complete = operation && !system ? operation->callback : NULL;

	being_told = tell ? system : NULL;
	if (complete)
		context = operation->context;
	ReleaseSRWLockExclusive(&handles_lock);
	if (tell)
		tell(&event, context);
	if (complete)
		complete((HCS_OPERATION)operation, context);
	AcquireSRWLockExclusive(&handles_lock);
	being_told = NULL;
	WakeAllConditionVariable(&handles_quiet);
}

static DWORD WINAPI deliver(void *unused)
{
	(void)unused;
	AcquireSRWLockExclusive(&handles_lock);
	for (;;) {
		struct item *item = items;

		if (!item) {
			SleepConditionVariableSRW(&items_came, &handles_lock, INFINITE, 0);
			continue;
		}
		items = item->next;
		if (!items)
			items_end = &items;
		deliver_item(item);
		if (item->system)
			system_release(item->system);
		if (item->operation)
			operation_release(item->operation);
		LocalFree(item->document);
		free(item);
	}
	return 0;
}

static void queue_item(struct system *system, struct operation *operation, HCS_EVENT_TYPE type,
		       WCHAR *document)
{
	struct item *item = calloc(1, sizeof(*item));

	if (!deliverer)
		deliverer = CreateThread(NULL, 0, deliver, NULL, 0, &deliverer_id);
	if (!item || !deliverer) {
		free(item);
		LocalFree(document);
		return;
	}
	*item = (struct item){NULL, system, operation, type, document};
	if (system)
		system->users++;
	if (operation)
		operation->users++;
	*items_end = item;
	items_end = &item->next;
	WakeAllConditionVariable(&items_came);
}

void delivery_finish(struct operation *operation, HRESULT result, WCHAR *document)
{
	struct system *system = operation->system;

	operation->progress = PROGRESS_OVER;
	operation->result = result;
	LocalFree(operation->document);
	operation->document = document;
	SetEvent(operation->over);
	if (operation->closed)
		return;
	if (operation->callback)
		queue_item(NULL, operation, HcsEventInvalid, NULL);
	else if (system && system->callback && !system->closed &&
		 system->options & HcsEventOptionEnableOperationCallbacks)
		queue_item(system, operation, HcsEventOperationCallback, NULL);
}

void delivery_event(struct system *system, HCS_EVENT_TYPE type, WCHAR *document)
{
	if (type == HcsEventSystemExited && !system->exit_status) {
		system->exit_status = document ? text_copy_wide(document) : NULL;
		SetEvent(system->exited);
	}
	if (system->callback && !system->closed)
		queue_item(system, NULL, type, document);
	else
		LocalFree(document);
}

void delivery_drain(struct system *system)
{
	while (being_told == system && GetCurrentThreadId() != deliverer_id)
		SleepConditionVariableSRW(&handles_quiet, &handles_lock, INFINITE, 0);
}
