/* SPDX-License-Identifier: MIT */
/*
 * The pins: addresses that DNS has answered for names on the list. Each pin has the name, the rule
 * that covers the name, and the time at which the pin ends. The table never grows: a new pin takes
 * the place of the pin that was renewed longest ago. Pins are found by a hash of the address: pins
 * with the same hash are in a chain. Chains and order are made of indices of the table; index 0
 * means none.
 */
#ifndef NETGATE_PINS_H
#define NETGATE_PINS_H

#include "netgate/names.h"

#define PINS_MAX 4096
#define PINS_HEADS 8192 /* a power of two */

struct pin {
	uint64_t until; /* time in ns at which the pin ends */
	uint32_t address;
	uint16_t next;	       /* index of the next pin of its chain, or of the next free entry */
	uint16_t older, newer; /* indices of the pins that were renewed just before and just after
				* this one; pins[0] stands for both ends of this order */
	uint8_t rule;
};

struct pins {
	uint64_t seed; /* random, so that no guest can know the chain of an address */
	uint16_t used; /* number of entries that were used at any time */
	uint16_t free; /* index of the first free entry among the entries that were used */
	uint16_t heads[PINS_HEADS]; /* index of the first pin of each chain */
	struct pin pins[PINS_MAX + 1];
	/* The names of the pins. They are not in struct pin, because most searches need no name,
	 * and read less memory so. */
	struct host_name names[PINS_MAX + 1];
};

/* Adds a pin for the address, or renews the pin that has the same rule and name. */
void pins_add(struct pins *pins, uint32_t address, uint8_t rule, const struct host_name *name,
	      uint64_t until);
/* Returns the number of a rule that has a pin for the address now and opens the port. If name is
 * not NULL, only pins of this name count. Returns -1 if there is no such rule. */
int pins_find(const struct pins *pins, const struct names *names, uint32_t address, uint16_t port,
	      const struct host_name *name, uint64_t now);
/* Removes all pins of a rule. Is called when the rule was removed from the list. */
void pins_drop(struct pins *pins, uint8_t rule);

#endif
