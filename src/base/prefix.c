/* SPDX-License-Identifier: MIT */
#include "base/prefix.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

#define IPV4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

/* Prefixes outside of the public internet. These include 0.0.0.0/8, because a connection to 0.0.0.0
 * leads to the host itself. */
static const struct prefix not_public[] = {
	{IPV4(0, 0, 0, 0), 8},
	{IPV4(10, 0, 0, 0), 8},
	{IPV4(100, 64, 0, 0), 10}, /* networks of internet providers (carrier-grade NAT) */
	{IPV4(127, 0, 0, 0), 8},
	{IPV4(172, 16, 0, 0), 12},
	{IPV4(192, 0, 0, 0), 24},   /* protocol assignments */
	{IPV4(192, 88, 99, 0), 24}, /* anycast addresses of 6to4 relays */
	{IPV4(192, 168, 0, 0), 16},
	{IPV4(198, 18, 0, 0), 15}, /* benchmarks of networks; also used by VPNs and proxies */
	{IPV4(224, 0, 0, 0), 4},   /* multicast */
	{IPV4(240, 0, 0, 0), 4},   /* reserved, broadcast */
};

static const struct prefix secret[] = {
	{0xa9fe0000, 16}, /* 169.254.0.0: link-local addresses, with the metadata services of most
			   * clouds */
	{0x646464c8, 32}, /* 100.100.100.200: the metadata service of Alibaba */
	{0xa83f8110, 32}, /* 168.63.129.16: the metadata service of Azure, at a public address */
	{0xc00000c0, 32}, /* 192.0.0.192: the metadata service of Oracle */
};

/* Reads the length of a prefix, for example "24". Returns -1 if the text is not a number from 0 to
 * 32, or begins with a superfluous 0. */
static int parse_length(const char *text)
{
	int bits = 0;

	if (!*text || (text[0] == '0' && text[1]))
		return -1;
	for (; *text >= '0' && *text <= '9' && bits <= 32; text++)
		bits = bits * 10 + (*text - '0');
	return *text || bits > 32 ? -1 : bits;
}

int prefix_parse(const char *text, struct prefix *out)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	int bits = slash ? parse_length(slash + 1) : 32;
	char address[INET_ADDRSTRLEN];
	struct in_addr in;

	if (bits < 0 || len >= sizeof(address))
		return -1;
	memcpy(address, text, len);
	address[len] = '\0';
	if (inet_pton(AF_INET, address, &in) != 1 ||
	    (bits < 32 && ntohl(in.s_addr) & UINT32_MAX >> bits))
		return -1;
	*out = (struct prefix){ntohl(in.s_addr), (uint32_t)bits};
	return 0;
}

bool prefix_covers(struct prefix p, uint32_t address)
{
	uint32_t mask = p.bits ? UINT32_MAX << (32 - p.bits) : 0;

	return ((address ^ p.address) & mask) == 0;
}

static bool lies_in_any(struct prefix prefix, const struct prefix *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (prefix.bits >= list[i].bits && prefix_covers(list[i], prefix.address))
			return true;
	return false;
}

bool prefix_is_secret(struct prefix prefix)
{
	return lies_in_any(prefix, secret, ARRAY_SIZE(secret));
}

bool prefix_is_not_public(struct prefix prefix)
{
	return lies_in_any(prefix, not_public, ARRAY_SIZE(not_public));
}
