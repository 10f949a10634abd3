/* SPDX-License-Identifier: MIT */
/* Ethernet addresses as text. */
#ifndef BASE_MAC_H
#define BASE_MAC_H

#include <stdbool.h>
#include <stdint.h>

#define MAC_BYTES 6
/* The size of an Ethernet address as text, with its NUL. */
#define MAC_TEXT 18

/* Reads an address such as "52:54:00:12:34:56". Returns false for any other text, also if there are
 * characters before or after the address. */
bool mac_parse(const char *text, uint8_t out[MAC_BYTES]);

#endif
