/* SPDX-License-Identifier: MIT */
/*
 * The connections between a machine and this host, except those of the agent and the control
 * stream. By mediation and config.vsockListeners the guest reaches a target. By published ports
 * this host reaches the guest. Each connection is joined on threads of its own.
 */
#ifndef HYPERV_CHANNELS_H
#define HYPERV_CHANNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "contract/request.h"
#include "hyperv/machine/guid.h"

struct channels;
/* Binds the published ports of this host; no client is answered there yet. The config is borrowed.
 * The result lives as long as the process. */
struct channels *channels_new(const struct config *config, struct error *err);
/* Return the vsock ports that the guest connects to, and those that the host connects to in the
 * guest. The list is borrowed; *count is its length. */
const uint32_t *channels_host_ports(const struct channels *channels, size_t *count);
const uint32_t *channels_guest_ports(const struct channels *channels, size_t *count);
/* Listens for connections from the guest of that machine. The caller starts the machine after this
 * call. */
int channels_listen(struct channels *channels, const struct guid *vm, struct error *err);
/* Begins to listen on the published ports. Called when the guest is ready. */
int channels_publish(struct channels *channels, struct error *err);
/* Takes no more connections. Existing connections end with the machine. */
void channels_shut(struct channels *channels);

#endif
