/* SPDX-License-Identifier: MIT */
/* Calls the callbacks of the program that uses the stand-in, one after the other. The callbacks run
 * on a separate thread, since a callback may wait. */
#ifndef HYPERV_DELIVERY_H
#define HYPERV_DELIVERY_H

#include "handles.h"

/* Ends the operation, and wakes up all threads that wait for its end. The caller holds the lock.
 * Takes ownership of `document`. */
void delivery_finish(struct operation *operation, HRESULT result, WCHAR *document);
/* Queues an event of the compute system. The caller holds the lock. Takes ownership of `document`,
 * which may be NULL. */
void delivery_event(struct system *system, HCS_EVENT_TYPE type, WCHAR *document);
/* Waits until no callback of the compute system runs. The caller holds the lock, which is released
 * during the wait. */
void delivery_drain(struct system *system);

#endif
