/* SPDX-License-Identifier: MIT */
#include "base/prefix.h"

#include <stddef.h>

#include "base/cleanup.h"

static const struct prefix secret[] = {
	{0xa9fe0000, 16}, /* 169.254.0.0: link-local; metadata of most clouds */
	{0x646464c8, 32}, /* 100.100.100.200: of Alibaba's */
	{0xa83f8110, 32}, /* 168.63.129.16: of Azure's, at a public address */
	{0xc00000c0, 32}, /* 192.0.0.192: of Oracle's */
};

bool prefix_covers(struct prefix p, uint32_t address)
{
	uint32_t mask = p.bits ? UINT32_MAX << (32 - p.bits) : 0;

	return ((address ^ p.address) & mask) == 0;
}

bool prefix_is_secret(struct prefix prefix)
{
	for (size_t i = 0; i < ARRAY_SIZE(secret); i++)
		if (prefix.bits >= secret[i].bits && prefix_covers(secret[i], prefix.address))
			return true;
	return false;
}
