/* SPDX-License-Identifier: MIT */
#include "base/mac.h"

#include <stdlib.h>
#include <string.h>

bool mac_parse(const char *text, uint8_t out[MAC_BYTES])
{
	static const char digits[] = "0123456789abcdefABCDEF";
	uint8_t mac[MAC_BYTES];

	if (strlen(text) != MAC_TEXT - 1)
		return false;
	for (size_t i = 0; i < MAC_BYTES; i++, text += 3) {
		if (strspn(text, digits) != 2 || (i + 1 < MAC_BYTES && text[2] != ':'))
			return false;
		mac[i] = (uint8_t)strtoul(text, NULL, 16);
	}
	memcpy(out, mac, MAC_BYTES);
	return true;
}
