/* SPDX-License-Identifier: MIT */
/* Makes a TCP connection on a loop, to the first of several addresses that accepts. */
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

/* Adds an address with a port (in host byte order) to the list. Does nothing if the list is full or
 * has the address already, or if the address is neither IPv4 nor IPv6. */
void addresses_add(struct addresses *list, const struct sockaddr *address, uint16_t port);
/* Adds an address that is given as text: "127.0.0.1", "::1". Returns false if `text` is not an
 * address. */
bool addresses_add_text(struct addresses *list, const char *text, uint16_t port);
socklen_t address_length(const struct sockaddr_storage *address);

/*
 * A function that is called with the result of an attempt to make a connection. `fd` is a connected
 * non-blocking socket, which the function must close. If no connection was made, `fd` is -1, and
 * *why is the reason. The function is called once, by the loop, and never from within the call that
 * began the attempt. The attempt is already freed when the function is called.
 */
typedef void reached_fn(void *data, int fd, const struct error *why);

struct connecting;
/* Tries one address after the other. The remaining time until `deadline_ns` (monotonic) is divided
 * equally between the addresses that are left. */
struct connecting *connecting_new(struct loop *loop, const struct addresses *list,
				  uint64_t deadline_ns, reached_fn *done, void *data,
				  struct error *err);
void connecting_free(struct connecting *connecting); /* cancels the attempt; accepts NULL */

/* The broker's duty that begins a connection. In a process that has a broker, the broker begins
 * each connection. The duty's data is a struct connecting_ports: the broker connects only to these
 * ports, but to any address. */
#define CONNECTING_PORTS_MAX 64u
struct connecting_ports {
	uint16_t at[CONNECTING_PORTS_MAX]; /* the ports, in host byte order */
	size_t count;
};
extern const struct broker_duty connecting_duty;

#endif
