/* SPDX-License-Identifier: MIT */
/* Calls the program's callbacks, one after the other, on a separate thread, since a callback may
 * wait. */
#ifndef HYPERV_DELIVERY_H
#define HYPERV_DELIVERY_H

#include "handles.h"

/* Ends the operation, and wakes all threads that wait for its end. Called with the lock held. Takes
 * over `document`. */
void delivery_finish(struct operation *operation, HRESULT result, WCHAR *document);
/* Queues an event of the system. Called with the lock held. Takes over `document`, which may be
 * NULL. */
void delivery_event(struct system *system, HCS_EVENT_TYPE type, WCHAR *document);
/* Waits until no callback of the system runs. Called with the lock held; the lock is released
 * during the wait. */
void delivery_drain(struct system *system);

#endif
