/* SPDX-License-Identifier: MIT */
#include "netgate/prefixes.h"

#include <arpa/inet.h>
#include <string.h>

#define IPV4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

/* What is no place on the public internet. Nothing in 0/8 is a destination: the kernel takes
 * 0.0.0.0 for the host itself. */
static const struct prefix shut[] = {
	{IPV4(0, 0, 0, 0), 8},
	{IPV4(10, 0, 0, 0), 8},
	{IPV4(100, 64, 0, 0), 10}, /* carriers' networks */
	{IPV4(127, 0, 0, 0), 8},
	{IPV4(172, 16, 0, 0), 12},
	{IPV4(192, 0, 0, 0), 24},   /* protocol assignments */
	{IPV4(192, 88, 99, 0), 24}, /* relays of 6to4, wherever the nearest is */
	{IPV4(192, 168, 0, 0), 16},
	{IPV4(198, 18, 0, 0), 15}, /* benchmarks of networks; VPNs and proxies use it */
	{IPV4(224, 0, 0, 0), 4},   /* multicast */
	{IPV4(240, 0, 0, 0), 4},   /* reserved, broadcast */
};

static const struct prefix loopback = {IPV4(127, 0, 0, 0), 8};
static const struct prefix this_host = {IPV4(0, 0, 0, 0), 8};

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

bool prefixes_open(const struct prefixes *p, uint32_t address)
{
	if (prefix_is_secret((struct prefix){address, 32}))
		return false;
	if (prefix_covers(loopback, address) || prefix_covers(this_host, address) ||
	    covers_any(p->own, p->nown, address))
		return is_named(p, address);
	if (covers_any(p->allow, p->nallow, address))
		return true;
	return !covers_any(p->link, p->nlink, address) &&
	       !covers_any(shut, sizeof(shut) / sizeof(*shut), address);
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
