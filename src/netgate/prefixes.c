/* SPDX-License-Identifier: MIT */
#include "netgate/prefixes.h"

#include <arpa/inet.h>
#include <string.h>

static const struct prefix loopback = {0x7f000000, 8};
static const struct prefix this_host = {0, 8};

static bool covers_any(const struct prefix *list, size_t count, uint32_t address)
{
	for (size_t i = 0; i < count; i++)
		if (prefix_covers(list[i], address))
			return true;
	return false;
}

static bool is_named(const struct prefixes *p, uint32_t address)
{
	for (size_t i = 0; i < p->nallow; i++)
		if (p->allow[i].bits == 32 && p->allow[i].address == address)
			return true;
	return false;
}

enum reach prefixes_reach(const struct prefixes *p, uint32_t address)
{
	if (prefix_is_secret((struct prefix){address, 32}))
		return REACH_NONE;
	if (prefix_covers(loopback, address) || prefix_covers(this_host, address) ||
	    covers_any(p->own, p->nown, address))
		return is_named(p, address) ? REACH_ALLOWED : REACH_NONE;
	if (covers_any(p->allow, p->nallow, address))
		return REACH_ALLOWED;
	if (covers_any(p->link, p->nlink, address) ||
	    prefix_is_not_public((struct prefix){address, 32}))
		return REACH_NONE;
	return REACH_PUBLIC;
}

bool prefixes_in_egress(const struct prefixes *p, uint32_t address)
{
	return covers_any(p->egress, p->negress, address);
}

static size_t place_in_egress(const struct prefixes *p, struct prefix prefix)
{
	size_t i = 0;

	while (i < p->negress &&
	       (p->egress[i].address != prefix.address || p->egress[i].bits != prefix.bits))
		i++;
	return i;
}

bool prefixes_add_egress(struct prefixes *p, struct prefix prefix)
{
	size_t i = place_in_egress(p, prefix);

	if (i == EGRESS_PREFIXES_MAX)
		return false;
	if (i == p->negress)
		p->egress[p->negress++] = prefix;
	return true;
}

void prefixes_remove_egress(struct prefixes *p, struct prefix prefix)
{
	size_t i = place_in_egress(p, prefix);

	if (i < p->negress)
		p->egress[i] = p->egress[--p->negress];
}

static bool is_sound_prefix(const void *message, size_t len)
{
	const uint8_t *at = message;
	struct prefix_wire wire;

	if (!len || len % sizeof(wire) || len / sizeof(wire) > PREFIXES_HOST_MAX)
		return false;
	for (size_t i = 0; i < len; i += sizeof(wire)) {
		memcpy(&wire, at + i, sizeof(wire));
		if (ntohl(wire.bits_be) > 32 || ntohl(wire.kind_be) > PREFIX_ON_LINK)
			return false;
	}
	return true;
}

bool prefixes_take_host(struct prefixes *p, const void *message, size_t len)
{
	const uint8_t *at = message;
	struct prefix_wire wire;

	if (!is_sound_prefix(message, len))
		return false;
	p->nown = p->nlink = 0;
	for (size_t i = 0; i < len; i += sizeof(wire)) {
		memcpy(&wire, at + i, sizeof(wire));
		const struct prefix prefix = {ntohl(wire.address_be), ntohl(wire.bits_be)};

		if (ntohl(wire.kind_be) == PREFIX_OWN)
			p->own[p->nown++] = prefix;
		else
			p->link[p->nlink++] = prefix;
	}
	return true;
}
