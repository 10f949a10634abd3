/* SPDX-License-Identifier: MIT */
/* Addresses of both families, and prefixes of them as text. */
#ifndef BASE_IP_H
#define BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IP_BYTES 16
#define IP_TEXT 56 /* any of them, with "/128" behind it */

struct ip {
	uint8_t family; /* AF_INET, AF_INET6; 0: none */
	uint8_t bytes[IP_BYTES];
};

/* 4 or 16; 0 for a family that is none of these. */
size_t ip_length(unsigned family);
/* From as many bytes as the family's addresses have. */
bool ip_from_bytes(unsigned family, const void *bytes, size_t len, struct ip *out);
bool ip_parse(const char *text, struct ip *out);
/* "10.0.0.2/24": the length is required, and no longer than the address. */
bool ip_parse_prefix(const char *text, struct ip *out, unsigned *bits);
void ip_format(const struct ip *ip, char out[IP_TEXT]);
void ip_format_prefix(const struct ip *ip, unsigned bits, char out[IP_TEXT]);
/* fe80::/10, which each kernel gives itself. */
bool ip_is_link_local6(const struct ip *ip);

#endif
