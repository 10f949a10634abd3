/* SPDX-License-Identifier: MIT */
/*
 * The connections between a machine and this host, except those of the agent and the control
 * stream. The guest reaches targets by mediation and by config.vsockListeners. This host reaches
 * the guest by published ports. Each connection has its own threads, which carry its bytes.
 */
#ifndef HYPERV_CHANNELS_H
#define HYPERV_CHANNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "contract/request.h"
#include "hyperv/machine/guid.h"

struct channels;
/* Binds the published ports of this host, at which no client is answered yet. The config must stay
 * valid as long as the process. The result is never freed. */
struct channels *channels_new(const struct config *config, struct error *err);
/* Functions that return the vsock ports of the host to which the guest connects, and those of the
 * guest to which the host connects. The list belongs to `channels`; *count is its length. */
const uint32_t *channels_host_ports(const struct channels *channels, size_t *count);
const uint32_t *channels_guest_ports(const struct channels *channels, size_t *count);
/* Listens for connections from the guest of the machine `vm`. The caller starts the machine after
 * this call. */
int channels_listen(struct channels *channels, const struct guid *vm, struct error *err);
/* Begins to listen on the published ports. Called when the guest is ready. */
int channels_publish(struct channels *channels, struct error *err);
/* Takes no more connections. Existing connections end with the machine. */
void channels_shut(struct channels *channels);

#endif
