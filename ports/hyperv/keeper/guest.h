/* SPDX-License-Identifier: MIT */
/*
 * The guest's control stream (docs/agent-protocol.md). Only one connection is accepted. A thread
 * reads the stream, checks each message and puts it into the inbox. This thread also sends
 * `config`; all later messages are sent by the keeper's loop.
 */
#ifndef HYPERV_GUEST_H
#define HYPERV_GUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "hyperv/keeper/inbox.h"
#include "hyperv/machine/guid.h"

struct guest;
/* Listens for the guest of the machine `vm`. The caller starts the machine after this call.
 * `config` is the answer to the guest's hello, and is copied. `workload` says whether a result may
 * come. Returns NULL with an error. */
struct guest *guest_listen(const struct guid *vm, const json_t *config, bool workload,
			   struct inbox *inbox, struct error *err);
/* Sends one message to a guest that is ready. */
int guest_say(struct guest *guest, const json_t *message, struct error *err);
/* Ends the stream. Waits up to `ms` milliseconds for its thread, then shuts the stream down. The
 * inbox then has all messages that the guest has sent up to this moment. */
void guest_end(struct guest *guest, unsigned ms);

#endif
