/* SPDX-License-Identifier: MIT */
/*
 * Which addresses have been answered for a name, under which rule, and until when: in a table that
 * never grows, in which the one that was renewed longest ago makes room. Found by a hash of the
 * address; its chains and its order are by indices, of which 0 is none.
 */
#ifndef NETGATE_PINS_H
#define NETGATE_PINS_H

#include "netgate/names.h"

#define PINS_MAX 4096
#define PINS_HEADS 8192 /* a power of two */

struct pin {
	uint64_t until; /* ns */
	uint32_t address;
	uint16_t next;	       /* of its chain, or of those that are free */
	uint16_t older, newer; /* pins[0] is behind both ends */
	uint8_t rule;
};

struct pins {
	uint64_t seed; /* so that nobody can aim at a chain */
	uint16_t used; /* so many of the table ever were */
	uint16_t free;
	uint16_t heads[PINS_HEADS];
	struct pin pins[PINS_MAX + 1];
	struct host_name names[PINS_MAX + 1]; /* apart: few are looked at */
};

void pins_add(struct pins *pins, uint32_t address, uint8_t rule, const struct host_name *name,
	      uint64_t until);
/* The number of a rule that opens the port of the address now, by a pin of that name, or of any if
 * it is NULL; -1: none does. */
int pins_find(const struct pins *pins, const struct names *names, uint32_t address, uint16_t port,
	      const struct host_name *name, uint64_t now);
/* A rule has gone, and with it all that it opened. */
void pins_drop(struct pins *pins, uint8_t rule);

#endif
