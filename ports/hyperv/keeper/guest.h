/* SPDX-License-Identifier: MIT */
/*
 * The guest's control stream (docs/agent-protocol.md). Only one connection is accepted. A thread
 * reads the stream, checks each message and puts it into the inbox. The same thread sends `config`.
 * The live supervisor's main thread sends all later messages.
 */
#ifndef HYPERV_GUEST_H
#define HYPERV_GUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "hyperv/keeper/inbox.h"
#include "hyperv/machine/guid.h"

struct guest;
/* Listens for the control stream of the guest of the machine `vm`. The caller must start the
 * machine only after this call, since the guest could connect earlier. `config` is the answer to
 * the guest's hello, and is copied. `workload` is true if the guest may send a result. Returns NULL
 * with err set on failure. */
struct guest *guest_listen(const struct guid *vm, const json_t *config, bool workload,
			   struct inbox *inbox, struct error *err);
/* Sends one message to the guest. The guest must be ready. */
int guest_say(struct guest *guest, const json_t *message, struct error *err);
/* Ends the stream. Waits up to `ms` milliseconds until the thread of the stream has read
 * everything, and then shuts the stream down. After this call, the inbox has all messages that the
 * thread has read. */
void guest_end(struct guest *guest, unsigned ms);

#endif
