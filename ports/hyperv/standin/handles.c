/* SPDX-License-Identifier: MIT */
#include "handles.h"

#include <stdlib.h>

SRWLOCK handles_lock = SRWLOCK_INIT;
CONDITION_VARIABLE handles_quiet = CONDITION_VARIABLE_INIT;

static struct operation *operations;
static struct system *systems;

struct operation *operation_new(void *context, HCS_OPERATION_COMPLETION callback)
{
	static UINT64 last;
	struct operation *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	new->over = CreateEventW(NULL, TRUE, FALSE, NULL);
	if (!new->over) {
		free(new);
		return NULL;
	}
	new->number = ++last;
	new->type = HcsOperationTypeNone;
	new->context = context;
	new->callback = callback;
	new->users = 1;
	new->next = operations;
	operations = new;
	return new;
}

struct operation *operation_find(HCS_OPERATION handle)
{
	struct operation *at = operations;

	while (at && (HCS_OPERATION)at != handle)
		at = at->next;
	return at && !at->closed ? at : NULL;
}

struct operation *operation_by_number(UINT64 number)
{
	struct operation *at = operations;

	while (at && at->number != number)
		at = at->next;
	return at;
}

struct operation *operation_pending(void)
{
	struct operation *at = operations;

	while (at && at->progress != PROGRESS_PENDING)
		at = at->next;
	return at;
}

void operation_release(struct operation *operation)
{
	struct operation **at = &operations;

	if (--operation->users)
		return;
	while (*at != operation)
		at = &(*at)->next;
	*at = operation->next;
	if (operation->system)
		system_release(operation->system);
	CloseHandle(operation->over);
	LocalFree(operation->document);
	free(operation);
}

struct system *system_new(void)
{
	static unsigned last;
	struct system *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	new->exited = CreateEventW(NULL, TRUE, FALSE, NULL);
	if (!new->exited) {
		free(new);
		return NULL;
	}
	new->number = ++last;
	new->users = 1;
	new->next = systems;
	systems = new;
	return new;
}

struct system *system_find(HCS_SYSTEM handle)
{
	struct system *at = systems;

	while (at && (HCS_SYSTEM)at != handle)
		at = at->next;
	return at && !at->closed ? at : NULL;
}

struct system *system_by_number(unsigned number)
{
	struct system *at = systems;

	while (at && at->number != number)
		at = at->next;
	return at;
}

struct system *system_first(void)
{
	return systems;
}

void system_release(struct system *system)
{
	struct system **at = &systems;

	if (--system->users)
		return;
	while (*at != system)
		at = &(*at)->next;
	*at = system->next;
	CloseHandle(system->exited);
	LocalFree(system->exit_status);
	free(system);
}
