/* SPDX-License-Identifier: MIT */
/*
 * The guest's control stream (docs/agent-protocol.md). Only one connection is accepted. A thread
 * reads the stream, checks each message and puts it into the inbox. This thread sends `config`, and
 * the keeper's loop sends all later messages.
 */
#ifndef HYPERV_GUEST_H
#define HYPERV_GUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "hyperv/keeper/inbox.h"
#include "hyperv/machine/guid.h"

struct guest;
/* Listens for the guest of the machine `vm`. The caller must start the machine only after this
 * call. `config` is the answer to the guest's hello; the function copies it. `workload` is true if
 * a result may come. Returns NULL with an error. */
struct guest *guest_listen(const struct guid *vm, const json_t *config, bool workload,
			   struct inbox *inbox, struct error *err);
/* Sends one message to a guest that is ready. */
int guest_say(struct guest *guest, const json_t *message, struct error *err);
/* Ends the stream. Waits up to `ms` milliseconds for the thread of the stream, and then shuts the
 * stream down. Afterwards the inbox has all messages that the guest has sent until then. */
void guest_end(struct guest *guest, unsigned ms);

#endif
