/* SPDX-License-Identifier: MIT */
/*
 * The addresses that DNS has answered for names, each with its rule and its end. The table never
 * grows: the entry that was renewed longest ago makes room. A hash of the address finds an entry.
 * The chains and the order of the table use indices; index 0 means none.
 */
#ifndef NETGATE_PINS_H
#define NETGATE_PINS_H

#include "netgate/names.h"

#define PINS_MAX 4096
#define PINS_HEADS 8192 /* a power of two */

struct pin {
	uint64_t until; /* ns */
	uint32_t address;
	uint16_t next;	       /* index of the next entry of its chain, or of the next free entry */
	uint16_t older, newer; /* order of renewal; pins[0] is beyond both ends */
	uint8_t rule;
};

struct pins {
	uint64_t seed; /* random: no guest can know the chain of an address */
	uint16_t used; /* how many entries of the table were ever used */
	uint16_t free;
	uint16_t heads[PINS_HEADS];
	struct pin pins[PINS_MAX + 1];
	struct host_name names[PINS_MAX + 1]; /* kept apart: few of them are looked at */
};

void pins_add(struct pins *pins, uint32_t address, uint8_t rule, const struct host_name *name,
	      uint64_t until);
/* Returns the number of a rule that opens the port of the address now, by a pin of that name (NULL:
 * of any name); -1 if no rule does. */
int pins_find(const struct pins *pins, const struct names *names, uint32_t address, uint16_t port,
	      const struct host_name *name, uint64_t now);
/* Removes all pins of a rule that was removed. */
void pins_drop(struct pins *pins, uint8_t rule);

#endif
