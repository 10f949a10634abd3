/* SPDX-License-Identifier: MIT */
#include "netgate/pins.h"

#include "netgate/mix.h"

static uint16_t *chain_of(struct pins *pins, uint32_t address)
{
	return &pins->heads[mix_bits(pins->seed ^ address) & (PINS_HEADS - 1)];
}

static uint16_t first_pin(const struct pins *pins, uint32_t address)
{
	return pins->heads[mix_bits(pins->seed ^ address) & (PINS_HEADS - 1)];
}

/* --- the order of renewal -------------------------------------------------------------------- */

static void become_newest(struct pins *pins, uint16_t i)
{
	struct pin *all = pins->pins;

	all[i].older = all[0].older;
	all[i].newer = 0;
	all[all[0].older].newer = i;
	all[0].older = i;
}

static void leave_order(struct pins *pins, uint16_t i)
{
	struct pin *all = pins->pins;

	all[all[i].older].newer = all[i].newer;
	all[all[i].newer].older = all[i].older;
}

/* --- the entries ----------------------------------------------------------------------------- */

static void remove_pin(struct pins *pins, uint16_t i)
{
	uint16_t *link = chain_of(pins, pins->pins[i].address);

	while (*link != i)
		link = &pins->pins[*link].next;
	*link = pins->pins[i].next;
	leave_order(pins, i);
	pins->pins[i].next = pins->free;
	pins->free = i;
}

static uint16_t free_place(struct pins *pins)
{
	uint16_t i;

	if (!pins->free && pins->used < PINS_MAX)
		return ++pins->used;
	if (!pins->free)
		remove_pin(pins, pins->pins[0].newer); /* pins[0].newer is the pin that was renewed
						        * longest ago */
	i = pins->free;
	pins->free = pins->pins[i].next;
	return i;
}

static uint16_t place_of_pin(const struct pins *pins, uint32_t address, uint8_t rule,
			     const struct host_name *name)
{
	uint16_t i = first_pin(pins, address);

	while (i && (pins->pins[i].address != address || pins->pins[i].rule != rule ||
		     !host_name_equal(&pins->names[i], name)))
		i = pins->pins[i].next;
	return i;
}

void pins_add(struct pins *pins, uint32_t address, uint8_t rule, const struct host_name *name,
	      uint64_t until)
{
	uint16_t *head = chain_of(pins, address), i = place_of_pin(pins, address, rule, name);

	if (i) {
		leave_order(pins, i);
		if (pins->pins[i].until < until)
			pins->pins[i].until = until;
	} else {
		i = free_place(pins);
		pins->pins[i] = (struct pin){
			.until = until, .address = address, .rule = rule, .next = *head};
		pins->names[i] = *name;
		*head = i;
	}
	become_newest(pins, i);
}

int pins_find(const struct pins *pins, const struct names *names, uint32_t address, uint16_t port,
	      const struct host_name *name, uint64_t now)
{
	for (uint16_t i = first_pin(pins, address); i; i = pins->pins[i].next) {
		const struct pin *pin = &pins->pins[i];

		if (pin->address == address && pin->until > now &&
		    egress_rule_opens(&names->rules[pin->rule], port) &&
		    (!name || host_name_equal(&pins->names[i], name)))
			return pin->rule;
	}
	return -1;
}

void pins_drop(struct pins *pins, uint8_t rule)
{
	for (uint16_t i = pins->pins[0].newer, next; i; i = next) {
		next = pins->pins[i].newer;
		if (pins->pins[i].rule == rule)
			remove_pin(pins, i);
	}
}
