/* SPDX-License-Identifier: MIT */
/* A TCP connection to the first of several addresses that answers, made on a loop. */
#ifndef BASE_CONNECTING_H
#define BASE_CONNECTING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/broker.h"
#include "base/error.h"
#include "base/loop.h"

#define ADDRESSES_MAX 16u

struct addresses {
	struct sockaddr_storage at[ADDRESSES_MAX];
	size_t count;
};

/* Adds one if there is room and it is not there yet; other families than IPv4 and IPv6 are passed
 * over. port in host order. */
void addresses_add(struct addresses *list, const struct sockaddr *address, uint16_t port);
/* "127.0.0.1", "::1". False when text is no address. */
bool addresses_add_text(struct addresses *list, const char *text, uint16_t port);
socklen_t address_length(const struct sockaddr_storage *address);

/*
 * How an attempt to reach something ended: fd is a connected non-blocking socket, the callee's; or
 * -1, and why. Called from the loop, once, never from within the call that began the attempt, which
 * is gone by then.
 */
typedef void reached_fn(void *data, int fd, const struct error *why);

struct connecting;
/* One address after the other, each with its part of the time up to deadline_ns. */
struct connecting *connecting_new(struct loop *loop, const struct addresses *list,
				  uint64_t deadline_ns, reached_fn *done, void *data,
				  struct error *err);
void connecting_free(struct connecting *connecting); /* gives up; accepts NULL */

/* The broker's part: each connection is begun by it where there is one. Its data says to which ports
 * one may lead, whatever the address. */
#define CONNECTING_PORTS_MAX 64u
struct connecting_ports {
	uint16_t at[CONNECTING_PORTS_MAX]; /* in host order */
	size_t count;
};
extern const struct broker_duty connecting_duty;

#endif
