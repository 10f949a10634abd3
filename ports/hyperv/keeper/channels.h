/* SPDX-License-Identifier: MIT */
/*
 * The connections between a machine and this host, except those of the agent and of the control
 * stream. The guest connects to targets through mediation and config.vsockListeners. Clients of
 * this host connect to the guest through published ports. Each connection has threads that copy its
 * bytes.
 */
#ifndef HYPERV_CHANNELS_H
#define HYPERV_CHANNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "contract/request.h"
#include "hyperv/machine/guid.h"

struct channels;
/* Binds the published ports of this host, but does not listen on them yet. `config` must stay valid
 * until the process exits. The result is never freed. Returns NULL with err set on failure. */
struct channels *channels_new(const struct config *config, struct error *err);
/* Functions that return lists of vsock ports. channels_host_ports() returns the host's ports to
 * which the guest connects. channels_guest_ports() returns the guest's ports to which the host
 * connects. The list belongs to `channels`, and *count is set to its length. */
const uint32_t *channels_host_ports(const struct channels *channels, size_t *count);
const uint32_t *channels_guest_ports(const struct channels *channels, size_t *count);
/* Listens for connections from the guest of the machine `vm`. The caller must start the machine
 * only after this call, since the guest could connect earlier. */
int channels_listen(struct channels *channels, const struct guid *vm, struct error *err);
/* Listens on the published ports. Called when the guest is ready. */
int channels_publish(struct channels *channels, struct error *err);
/* Accepts no more connections. Existing connections end when the machine ends. */
void channels_shut(struct channels *channels);

#endif
