/* SPDX-License-Identifier: MIT */
/*
 * What the live supervisor leads in and out of a guest: published ports, the mediation channel and
 * further listeners. Every listener is there before the VM is; they end with the live supervisor,
 * or earlier by channels_sever().
 */
#ifndef SUPERVISOR_CHANNELS_H
#define SUPERVISOR_CHANNELS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "contract/request.h"
#include "supervisor/live/target.h"

struct channels;

/* Listens on the host's ports and makes vsock.sock_<port> in the workspace, whose descriptor and
 * log must outlive the channels. On failure no port is held; sockets may be left in the workspace.
 */
struct channels *channels_new(struct loop *loop, int workspace_fd, const struct config *config,
			      struct log *log, struct error *err);
/* Host ports that the guest may dial, the control stream's first. Borrowed. */
const uint32_t *channels_host_ports(const struct channels *channels, size_t *count);
/* The TCP ports of the targets that are declared. At most `most`; returns how many. */
size_t channels_target_ports(const struct channels *channels, uint16_t *ports, size_t most);
/* The guest is ready: connections to published ports, which have waited, are taken. */
int channels_open(struct channels *channels, struct error *err);
/* Where mediation leads; NULL when it is not configured or has been severed. Borrowed. */
struct target *channels_mediation(const struct channels *channels);
/* Closes listeners and connections for good, and appends to the array `severed` a text for each:
 * "publish 127.0.0.1:8080 (3 connections)". The sockets' names stay in the workspace. */
int channels_sever(struct channels *channels, json_t *severed, struct error *err);
void channels_free(struct channels *channels); /* accepts NULL */

#endif
