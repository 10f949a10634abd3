/* SPDX-License-Identifier: MIT */
#include "base/ip.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

size_t ip_length(unsigned family)
{
	return family == AF_INET ? 4 : family == AF_INET6 ? 16 : 0;
}

bool ip_from_bytes(unsigned family, const void *bytes, size_t len, struct ip *out)
{
	struct ip ip = {.family = (uint8_t)family};

	if (len == 0 || len != ip_length(family))
		return false;
	memcpy(ip.bytes, bytes, len);
	*out = ip;
	return true;
}

bool ip_parse(const char *text, struct ip *out)
{
	struct ip ip = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};

	if (inet_pton(ip.family, text, ip.bytes) != 1)
		return false;
	*out = ip;
	return true;
}

/* Reads a number of one to three decimal digits. For any other text returns UINT32_MAX, which is
 * greater than the length of any prefix. */
static unsigned parse_bits(const char *text)
{
	unsigned bits = 0;
	size_t len = strlen(text);

	if (len < 1 || len > 3 || strspn(text, "0123456789") != len)
		return UINT32_MAX;
	for (; *text; text++)
		bits = bits * 10 + (unsigned)(*text - '0');
	return bits;
}

bool ip_parse_prefix(const char *text, struct ip *out, unsigned *bits)
{
	const char *slash = strchr(text, '/');
	char address[INET6_ADDRSTRLEN];
	struct ip ip;

	if (!slash || (size_t)(slash - text) >= sizeof(address))
		return false;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	unsigned n = parse_bits(slash + 1);
	if (!ip_parse(address, &ip) || n > 8 * ip_length(ip.family))
		return false;
	*out = ip;
	*bits = n;
	return true;
}

void ip_format(const struct ip *ip, char out[IP_TEXT])
{
	*out = '\0';
	(void)inet_ntop(ip->family, ip->bytes, out, IP_TEXT);
}

void ip_format_prefix(const struct ip *ip, unsigned bits, char out[IP_TEXT])
{
	ip_format(ip, out);
	size_t len = strlen(out);
	snprintf(out + len, IP_TEXT - len, "/%u", bits);
}

bool ip_is_link_local6(const struct ip *ip)
{
	return ip->family == AF_INET6 && ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}
