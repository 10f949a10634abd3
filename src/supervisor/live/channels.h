/* SPDX-License-Identifier: MIT */
/*
 * The channels into and out of a guest that the live supervisor serves: published ports, the
 * mediation channel and further listeners. The channels of the config are made before the machine
 * is made. All channels end with the live supervisor, or earlier by channels_sever(). The socket of
 * a port that is published later is made by the command that publishes it, since the live
 * supervisor may bind no socket.
 *
 * A channel has a socket that is bound to its port of the host as long as the port is published.
 * The socket listens only while the guest's messages say that a server listens in the guest. At
 * other times a connection is refused. If a guest sends no such messages, the channels listen from
 * the moment at which the guest is ready.
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

/* Binds the published ports of the host, and makes the sockets vsock.sock_<port> in the workspace,
 * by which the guest dials the host. workspace_fd and `log` must stay valid as long as the
 * channels. `loopback` is a non-blocking listener, which the channels close; -1: there is none. A
 * connection to this listener is led to the guest's port with the same number as the host's port.
 * After an error no port is bound, but socket files may remain in the workspace. */
struct channels *channels_new(struct loop *loop, int workspace_fd, const struct config *config,
			      int loopback, struct log *log, struct error *err);
/* Returns the vsock ports of the host that the guest may dial. The first one is the control
 * stream's port. The array belongs to the channels. */
const uint32_t *channels_host_ports(const struct channels *channels, size_t *count);
/* Writes the TCP ports of the targets that the config names to `ports`, which has room for `most`
 * ports. Returns the number of ports written. */
size_t channels_target_ports(const struct channels *channels, uint16_t *ports, size_t most);
/* Starts to listen on those published ports whose server in the guest already listens. Called when
 * the guest is ready. */
int channels_open(struct channels *channels, struct error *err);
/* Handles the guest's message that says which ports have a server. The message may come at any
 * time. If several such messages come within LIMIT_LISTENING_MS, only the last message counts. */
void channels_listening(struct channels *all, const struct control_listening *listening);
/* Handles the loss of the control stream. If the machine still runs after LIMIT_AGENT_LOST_MS, its
 * guest is treated like a guest that never says which ports have a server: all published ports
 * listen. */
void channels_guest_lost(struct channels *all);
/* Stops a published port: makes its bound socket refuse connections. The socket already listens if
 * a command of an older version has made it. ERR_DENIED: the socket is bound to no port. */
int channels_hold(int port, struct error *err);
extern const struct broker_duty port_duty;
/* Keeps other users from the published ports while no process listens on them
 * (descriptor_guard_port()). The sockets that guard the ports are made by the broker or, if there
 * is no broker yet, by this process. ERR_UNAVAILABLE: another program has one of these ports. */
int channels_guard(struct channels *all, struct error *err);
/* Publishes one more port of a guest that is ready. `forward` is the normalised entry of the port.
 * `port` is the socket from publish_bind(). The channels close this socket, even if the function
 * fails. */
int channels_publish(struct channels *all, const json_t *forward, int port, struct error *err);
/* Ends a published port and its connections. Returns true if no other port of the host leads to
 * this port of the guest. */
bool channels_unpublish(struct channels *channels, const json_t *forward);
/* Returns the target of the mediation channel, which belongs to the channels. Returns NULL if there
 * is no mediation channel, or if channels_sever() has closed it. */
struct target *channels_mediation(const struct channels *channels);
/* Closes all listeners and connections, and makes no more of them. Appends a text about each
 * channel to the array `severed`, for example "publish 127.0.0.1:8080 (3 connections)". The files
 * of the sockets stay in the workspace. */
int channels_sever(struct channels *channels, json_t *severed, struct error *err);
void channels_free(struct channels *channels); /* accepts NULL */

#endif
