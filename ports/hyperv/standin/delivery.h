/* SPDX-License-Identifier: MIT */
/* Calls callbacks one after the other, in a thread of their own, since the functions that they call
 * may wait. */
#ifndef HYPERV_DELIVERY_H
#define HYPERV_DELIVERY_H

#include "handles.h"

/* Called with the lock held. The operation has ended, and callers that wait for it are told. Takes
 * over document. */
void delivery_finish(struct operation *operation, HRESULT result, WCHAR *document);
/* Called with the lock held. Takes over document; NULL: none. */
void delivery_event(struct system *system, HCS_EVENT_TYPE type, WCHAR *document);
/* Called with the lock held, which is given up meanwhile. Waits until no callback of the system
 * runs. */
void delivery_drain(struct system *system);

#endif
