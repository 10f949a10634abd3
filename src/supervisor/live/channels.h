/* SPDX-License-Identifier: MIT */
/*
 * What the live supervisor leads in and out of a guest: published ports, the mediation channel and
 * further listeners. Those of the config are there before the VM is; they end with the live
 * supervisor, or earlier by channels_sever(). Of later ones the command that asks has the socket
 * made: this process may bind nothing.
 *
 * The host's end of a published port belongs to the channel for as long as the port is published.
 * It is listened on only while a server listens in the guest, by the guest's word; otherwise a
 * connect is refused. A guest that says nothing of its servers has its ports listened on from the moment
 * that it is ready.
 */
#ifndef SUPERVISOR_CHANNELS_H
#define SUPERVISOR_CHANNELS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "contract/request.h"
#include "supervisor/live/control_message.h"
#include "supervisor/live/target.h"

struct channels;

/* Takes the host's ports and makes vsock.sock_<port> in the workspace, whose descriptor and
 * log must outlive the channels. loopback: a non-blocking listener that becomes theirs, each of
 * whose connections is led to that port of the guest which it was made to here; -1. On failure no
 * port is held; sockets may be left in the workspace.
 */
struct channels *channels_new(struct loop *loop, int workspace_fd, const struct config *config,
			      int loopback, struct log *log, struct error *err);
/* Host ports that the guest may dial, the control stream's first. Borrowed. */
const uint32_t *channels_host_ports(const struct channels *channels, size_t *count);
/* The TCP ports of the targets that are declared. At most `most`; returns how many. */
size_t channels_target_ports(const struct channels *channels, uint16_t *ports, size_t most);
/* The guest is ready: published ports that have a server are listened on from now on. */
int channels_open(struct channels *channels, struct error *err);
/* The guest's word on its servers, at any time. Of words that come within LIMIT_LISTENING_MS the
 * last one counts. */
void channels_listening(struct channels *all, const struct control_listening *listening);
/* The guest says no more. A machine that goes on for LIMIT_AGENT_LOST_MS after that is one that says
 * nothing of its servers. */
void channels_guest_lost(struct channels *all);
/* Makes the socket of a published port refuse connections. The socket is bound, and may listen, as
 * those that older commands made. ERR_DENIED: it is bound to no port. */
int channels_hold(int port, struct error *err);
extern const struct broker_duty port_duty;
/* Keeps other users from the published ports while they do not listen (descriptor_guard_port()).
 * Before there is a broker, this process itself would have the sockets for that. ERR_UNAVAILABLE:
 * another program has such a port. */
int channels_guard(struct channels *all, struct error *err);
/* One more published port of a guest that is ready. forward: as normalised; port: publish_bind()'s,
 * which is the channels' own from now on, also on failure. */
int channels_publish(struct channels *all, const json_t *forward, int port, struct error *err);
/* Ends a published port and its connections. True: its port of the guest is published nowhere else.
 */
bool channels_unpublish(struct channels *channels, const json_t *forward);
/* Where mediation leads; NULL when it is not configured or has been severed. Borrowed. */
struct target *channels_mediation(const struct channels *channels);
/* Closes listeners and connections for good, and appends to the array `severed` a text for each:
 * "publish 127.0.0.1:8080 (3 connections)". The sockets' names stay in the workspace. */
int channels_sever(struct channels *channels, json_t *severed, struct error *err);
void channels_free(struct channels *channels); /* accepts NULL */

#endif
