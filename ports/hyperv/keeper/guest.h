/* SPDX-License-Identifier: MIT */
/*
 * The guest's control stream (docs/agent-protocol.md): accepted once, read by a thread of its own,
 * which checks each message and puts it into the inbox. What is sent behind `config` is the
 * keeper's.
 */
#ifndef HYPERV_GUEST_H
#define HYPERV_GUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "hyperv/keeper/inbox.h"
#include "hyperv/machine/guid.h"

struct guest;
/* Listens for that machine's guest, which is to be started after this. config: what it is sent
 * behind its hello; workload: a result may come. */
struct guest *guest_listen(const struct guid *vm, const json_t *config, bool workload,
			   struct inbox *inbox, struct error *err);
/* One message to a guest that is ready. */
int guest_say(struct guest *guest, const json_t *message, struct error *err);
/* Nobody is accepted any more, and nobody is listened to; what was said is in the inbox then. */
void guest_end(struct guest *guest, unsigned ms);

#endif
