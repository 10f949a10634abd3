/* SPDX-License-Identifier: MIT */
/* GUIDs as text, and those that HvSocket makes of vsock ports. Pure. */
#ifndef HYPERV_GUID_H
#define HYPERV_GUID_H

#include <stdbool.h>
#include <stdint.h>

#define GUID_TEXT 37 /* 8-4-4-4-12 digits and a NUL */

struct guid {
	uint32_t data1;
	uint16_t data2, data3;
	uint8_t data4[8];
};

/* Lower case, without braces. */
void guid_text(const struct guid *guid, char out[GUID_TEXT]);
/* Without braces, in either case; false for anything else. */
bool guid_parse(const char *text, struct guid *out);
/* Of random bytes (RFC 9562, version 4). */
struct guid guid_of_random(const uint8_t bytes[16]);
/*
 * The service that a Linux guest knows as this vsock port. Documented for users: "Make your own
 * integration services" (learn.microsoft.com, virtualization/hyper-v-on-windows/user-guide), with
 * the template "<port>-facb-11e6-bd58-64006a7986d3", and in Linux net/vmw_vsock/hyperv_transport.c.
 */
struct guid guid_of_vsock_port(uint32_t port);

#endif
