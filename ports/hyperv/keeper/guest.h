/* SPDX-License-Identifier: MIT */
/*
 * The guest's control stream (docs/agent-protocol.md). It is accepted once. A thread of its own
 * reads it, checks each message and puts the message into the inbox. After `config`, only the
 * keeper sends messages.
 */
#ifndef HYPERV_GUEST_H
#define HYPERV_GUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "hyperv/keeper/inbox.h"
#include "hyperv/machine/guid.h"

struct guest;
/* Listens for the guest of that machine. The caller starts the machine after this call. config is
 * sent as the answer to the guest's hello; it is copied. workload says whether a result may come.
 * Returns NULL with an error. */
struct guest *guest_listen(const struct guid *vm, const json_t *config, bool workload,
			   struct inbox *inbox, struct error *err);
/* Sends one message to a guest that is ready. */
int guest_say(struct guest *guest, const json_t *message, struct error *err);
/* Ends the stream. Waits up to ms milliseconds for its thread, then shuts the stream down. All that
 * the guest has said by then is in the inbox. */
void guest_end(struct guest *guest, unsigned ms);

#endif
