/* SPDX-License-Identifier: MIT */
/*
 * What leads between a machine and this host beside its agent and its control stream: mediation and
 * config.vsockListeners, by which the guest reaches a target, and published ports, by which this
 * host reaches the guest. Each connection is joined on threads of its own.
 */
#ifndef HYPERV_CHANNELS_H
#define HYPERV_CHANNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "contract/request.h"
#include "hyperv/machine/guid.h"

struct channels;
/* Takes the published ports of this host, where nobody is answered yet. The config is borrowed. For
 * the life of the process. */
struct channels *channels_new(const struct config *config, struct error *err);
/* The vsock ports that the guest connects to, and those that it is connected to: of a list that is
 * count long, and borrowed. */
const uint32_t *channels_host_ports(const struct channels *channels, size_t *count);
const uint32_t *channels_guest_ports(const struct channels *channels, size_t *count);
/* Listens for the connections of that machine's guest, which is to be started after this. */
int channels_listen(struct channels *channels, const struct guid *vm, struct error *err);
/* The guest is ready: the published ports are listened on. */
int channels_publish(struct channels *channels, struct error *err);
/* Takes no more connections. Those that there are end with the machine. */
void channels_shut(struct channels *channels);

#endif
