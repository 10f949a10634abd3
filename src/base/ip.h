/* SPDX-License-Identifier: MIT */
/* IP addresses of both families, and their prefixes, as bytes and as text. */
#ifndef BASE_IP_H
#define BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IP_BYTES 16
#define IP_TEXT 56 /* the size in bytes of the longest text, with "/128" and a NUL */

struct ip {
	uint8_t family; /* AF_INET or AF_INET6; 0: there is no address */
	uint8_t bytes[IP_BYTES];
};

/* Returns the length of an address of the family in bytes: 4 or 16; 0 for any other family. */
size_t ip_length(unsigned family);
/* Reads an address from its bytes. Returns false if `len` is not the length of an address of the
 * family. */
bool ip_from_bytes(unsigned family, const void *bytes, size_t len, struct ip *out);
/* Reads an address from a text. Returns false if the text is not an address. */
bool ip_parse(const char *text, struct ip *out);
/* Reads an address and a prefix length, as in "10.0.0.2/24". Returns false if the prefix length is
 * missing, or is greater than the number of bits of the address. */
bool ip_parse_prefix(const char *text, struct ip *out, unsigned *bits);
void ip_format(const struct ip *ip, char out[IP_TEXT]);
void ip_format_prefix(const struct ip *ip, unsigned bits, char out[IP_TEXT]);
/* Returns true if the address is in fe80::/10. A kernel gives each of its interfaces an address
 * from this prefix without being configured to. */
bool ip_is_link_local6(const struct ip *ip);

#endif
