/* SPDX-License-Identifier: MIT */
/* Callbacks, one after the other, by a thread of their own: what they call may wait. */
#ifndef HYPERV_DELIVERY_H
#define HYPERV_DELIVERY_H

#include "handles.h"

/* With the lock held. The operation has ended; whoever waits for it is told. document is taken. */
void delivery_finish(struct operation *operation, HRESULT result, WCHAR *document);
/* With the lock held. document is taken; NULL: none. */
void delivery_event(struct system *system, HCS_EVENT_TYPE type, WCHAR *document);
/* With the lock held, which is given up meanwhile: until no callback of the system runs. */
void delivery_drain(struct system *system);

#endif
