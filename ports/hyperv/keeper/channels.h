/* SPDX-License-Identifier: MIT */
/*
 * The connections between a machine and this host, except those of the agent and of the control
 * stream. The guest reaches targets by mediation and by config.vsockListeners. This host reaches
 * the guest by published ports. Threads of each connection carry its bytes.
 */
#ifndef HYPERV_CHANNELS_H
#define HYPERV_CHANNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "contract/request.h"
#include "hyperv/machine/guid.h"

struct channels;
/* Binds the published ports of this host. No client gets an answer yet. `config` must stay valid
 * until the process ends. The result is never freed. Returns NULL with an error. */
struct channels *channels_new(const struct config *config, struct error *err);
/* Return vsock ports: channels_host_ports() those of the host to which the guest connects, and
 * channels_guest_ports() those of the guest to which the host connects. The list belongs to
 * `channels`. Sets *count to its length. */
const uint32_t *channels_host_ports(const struct channels *channels, size_t *count);
const uint32_t *channels_guest_ports(const struct channels *channels, size_t *count);
/* Listens for connections from the guest of the machine `vm`. The caller must start the machine
 * only after this call. */
int channels_listen(struct channels *channels, const struct guid *vm, struct error *err);
/* Listens on the published ports. The keeper calls this when the guest is ready. */
int channels_publish(struct channels *channels, struct error *err);
/* Accepts no more connections. Existing connections end when the machine ends. */
void channels_shut(struct channels *channels);

#endif
