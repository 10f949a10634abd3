/* SPDX-License-Identifier: MIT */
/* Addresses of both families, and prefixes of them as text. */
#ifndef BASE_IP_H
#define BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IP_BYTES 16
#define IP_TEXT 56 /* bytes of the longest text, with "/128" and a NUL */

struct ip {
	uint8_t family; /* AF_INET, AF_INET6; 0: no address */
	uint8_t bytes[IP_BYTES];
};

/* Returns 4 or 16 bytes; 0 for any other family. */
size_t ip_length(unsigned family);
/* Reads an address from its bytes. len must be the length of the family's addresses. */
bool ip_from_bytes(unsigned family, const void *bytes, size_t len, struct ip *out);
bool ip_parse(const char *text, struct ip *out);
/* Reads "10.0.0.2/24". The length is required, and at most that of the address. */
bool ip_parse_prefix(const char *text, struct ip *out, unsigned *bits);
void ip_format(const struct ip *ip, char out[IP_TEXT]);
void ip_format_prefix(const struct ip *ip, unsigned bits, char out[IP_TEXT]);
/* Returns whether the address is in fe80::/10, from which each kernel gives itself addresses. */
bool ip_is_link_local6(const struct ip *ip);

#endif
