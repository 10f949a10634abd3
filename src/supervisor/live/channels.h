/* SPDX-License-Identifier: MIT */
/*
 * The channels into and out of a guest that the live supervisor serves: published ports, the
 * mediation channel and further listeners. The channels of the config exist before the VM does.
 * They end with the live supervisor, or earlier by channels_sever(). The sockets of later ones are
 * made on behalf of the command that asks: this process may bind nothing.
 *
 * A published port of the host belongs to its channel for as long as it is published. The channel
 * listens on it only while a server listens in the guest, by the guest's word. Otherwise a connect
 * is refused. If a guest says nothing about its servers, its ports are listened on from the moment
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

/* Takes the host's ports and makes vsock.sock_<port> in the workspace. workspace_fd and log must
 * outlive the channels. loopback: a non-blocking listener, -1 for none. The channels take it over.
 * Each of its connections leads to the guest's port that has the same number as the host's port it
 * was made to. On failure no port is held; sockets may be left in the workspace. */
struct channels *channels_new(struct loop *loop, int workspace_fd, const struct config *config,
			      int loopback, struct log *log, struct error *err);
/* Returns the host ports that the guest may dial, the control stream's port first. Borrowed. */
const uint32_t *channels_host_ports(const struct channels *channels, size_t *count);
/* Writes the TCP ports of the declared targets, at most `most`. Returns how many it wrote. */
size_t channels_target_ports(const struct channels *channels, uint16_t *ports, size_t most);
/* Called when the guest is ready. From now on published ports that have a server are listened
 * on. */
int channels_open(struct channels *channels, struct error *err);
/* Takes the guest's message about its servers, at any time. Of several messages within
 * LIMIT_LISTENING_MS the last one counts. */
void channels_listening(struct channels *all, const struct control_listening *listening);
/* Called when the guest says no more. If the machine goes on for LIMIT_AGENT_LOST_MS after that, it
 * is treated as one that says nothing about its servers. */
void channels_guest_lost(struct channels *all);
/* Makes the socket of a published port refuse connections. The socket is bound. It may listen, as
 * the sockets that older commands made do. ERR_DENIED: it is bound to no port. */
int channels_hold(int port, struct error *err);
extern const struct broker_duty port_duty;
/* Keeps other users from the published ports while these do not listen (descriptor_guard_port()).
 * If it is called before there is a broker, this process itself holds the sockets for that.
 * ERR_UNAVAILABLE: another program has such a port. */
int channels_guard(struct channels *all, struct error *err);
/* Publishes one more port of a guest that is ready. forward: the normalised entry. port: the socket
 * from publish_bind(); the channels take it over, also on failure. */
int channels_publish(struct channels *all, const json_t *forward, int port, struct error *err);
/* Ends a published port and its connections. Returns true if its port of the guest is published
 * nowhere else. */
bool channels_unpublish(struct channels *channels, const json_t *forward);
/* Returns the target of the mediation channel; NULL if it is not configured or has been severed.
 * Borrowed. */
struct target *channels_mediation(const struct channels *channels);
/* Closes listeners and connections for good, and appends a text for each to the array `severed`:
 * "publish 127.0.0.1:8080 (3 connections)". The names of the sockets stay in the workspace. */
int channels_sever(struct channels *channels, json_t *severed, struct error *err);
void channels_free(struct channels *channels); /* accepts NULL */

#endif
