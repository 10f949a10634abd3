/* SPDX-License-Identifier: MIT */
/*
 * The pins: addresses that DNS has answered for names on the list. Each pin has the name, the rule
 * that covers the name, and the time at which the pin ends. The table never grows: a new pin
 * replaces the pin that was renewed longest ago. Pins are found by a hash of their address: the
 * pins with the same hash are linked to a chain. Another list links all pins in the order of their
 * renewal. The links are indices of the table; index 0 means that no pin follows.
 */
#ifndef NETGATE_PINS_H
#define NETGATE_PINS_H

#include "netgate/names.h"

#define PINS_MAX 4096
#define PINS_HEADS 8192 /* number of chains, a power of two */

struct pin {
	uint64_t until; /* time in ns at which the pin ends */
	uint32_t address;
	uint16_t next; /* index of the next pin of its chain, or of the next free entry */
	/* The indices of the pins that were renewed just before and just after this pin. pins[0]
	 * stands for both ends of this order. */
	uint16_t older, newer;
	uint8_t rule;
};

struct pins {
	uint64_t seed; /* random, so that no guest can know the chain of an address */
	uint16_t used; /* the number of entries that were ever used */
	uint16_t free; /* index of the first free entry among the entries that were used */
	uint16_t heads[PINS_HEADS]; /* index of the first pin of each chain */
	struct pin pins[PINS_MAX + 1];
	/* The names of the pins. The names are not in struct pin, because most searches need no
	 * name, and so read less memory. */
	struct host_name names[PINS_MAX + 1];
};

/* Adds a pin for the address that ends at the time `until` (in ns). If a pin has the same address,
 * rule and name, renews this pin. */
void pins_add(struct pins *pins, uint32_t address, uint8_t rule, const struct host_name *name,
	      uint64_t until);
/* Returns the number of a rule that opens the port and has a pin for the address at the time `now`.
 * If `name` is not NULL, only pins of this name count. Returns -1 if there is no such rule. */
int pins_find(const struct pins *pins, const struct names *names, uint32_t address, uint16_t port,
	      const struct host_name *name, uint64_t now);
/* Removes all pins of a rule. Is called after the rule was removed from the list. */
void pins_drop(struct pins *pins, uint8_t rule);

#endif
