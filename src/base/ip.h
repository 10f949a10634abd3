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

/* Returns how many bytes an address of the family has: 4 or 16; 0 for any other family. */
size_t ip_length(unsigned family);
/* Reads an address from its bytes. Returns false unless `len` is the length of such an address. */
bool ip_from_bytes(unsigned family, const void *bytes, size_t len, struct ip *out);
/* Reads an address from a text. Returns false if the text is not an address. */
bool ip_parse(const char *text, struct ip *out);
/* Reads an address with the length of a prefix, "10.0.0.2/24". Returns false if the length is
 * missing or is more than the address has bits. */
bool ip_parse_prefix(const char *text, struct ip *out, unsigned *bits);
void ip_format(const struct ip *ip, char out[IP_TEXT]);
void ip_format_prefix(const struct ip *ip, unsigned bits, char out[IP_TEXT]);
/* Returns whether the address is in fe80::/10. A kernel gives each of its interfaces an address
 * from this prefix without being asked. */
bool ip_is_link_local6(const struct ip *ip);

#endif
