/* SPDX-License-Identifier: MIT */
#include "hyperv/machine/guid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void guid_text(const struct guid *guid, char out[GUID_TEXT])
{
	const uint8_t *d = guid->data4;

	snprintf(out, GUID_TEXT, "%08" PRIx32 "-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 guid->data1, guid->data2, guid->data3, d[0], d[1], d[2], d[3], d[4], d[5], d[6],
		 d[7]);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool guid_parse(const char *text, struct guid *out)
{
	uint8_t bytes[16] = {0};
	size_t digits = 0;

	if (strlen(text) != GUID_TEXT - 1)
		return false;
	for (size_t i = 0; i < GUID_TEXT - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		int value = dash ? 0 : hex_digit(text[i]);

		if (value < 0 || (dash && text[i] != '-'))
			return false;
		if (dash)
			continue;
		bytes[digits / 2] = (uint8_t)(bytes[digits / 2] << 4 | value);
		digits++;
	}
	*out = (struct guid){
		.data1 = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
			 (uint32_t)bytes[2] << 8 | bytes[3],
		.data2 = (uint16_t)(bytes[4] << 8 | bytes[5]),
		.data3 = (uint16_t)(bytes[6] << 8 | bytes[7]),
	};
	memcpy(out->data4, bytes + 8, sizeof(out->data4));
	return true;
}

struct guid guid_of_random(const uint8_t bytes[16])
{
	struct guid guid;

	memcpy(&guid, bytes, sizeof(guid));
	guid.data3 = (uint16_t)((guid.data3 & 0x0fff) | 0x4000);
	guid.data4[0] = (uint8_t)((guid.data4[0] & 0x3f) | 0x80);
	return guid;
}

struct guid guid_of_vsock_port(uint32_t port)
{
	return (struct guid){
		port, 0xfacb, 0x11e6, {0xbd, 0x58, 0x64, 0x00, 0x6a, 0x79, 0x86, 0xd3}};
}
