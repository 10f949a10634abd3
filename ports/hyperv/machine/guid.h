/* SPDX-License-Identifier: MIT */
/* Functions for GUIDs as text, and for the GUIDs that HvSocket uses for vsock ports. The functions
 * have no side effects. */
#ifndef HYPERV_GUID_H
#define HYPERV_GUID_H

#include <stdbool.h>
#include <stdint.h>

#define GUID_TEXT 37 /* the size of a GUID as text: 8-4-4-4-12 digits and a NUL */

struct guid {
	uint32_t data1;
	uint16_t data2, data3;
	uint8_t data4[8];
};

/* Writes the GUID to `out`, in lower case, without braces. */
void guid_text(const struct guid *guid, char out[GUID_TEXT]);
/* Parses a GUID without braces, in upper or lower case. Returns false if `text` is not a GUID. */
bool guid_parse(const char *text, struct guid *out);
/* Makes a GUID from random bytes (RFC 9562, version 4). */
struct guid guid_of_random(const uint8_t bytes[16]);
/*
 * Returns the GUID of the HvSocket service that is the vsock port `port` for a Linux guest. The
 * GUID has the form "<port>-facb-11e6-bd58-64006a7986d3". This form is documented in "Make your own
 * integration services" (learn.microsoft.com, virtualization/hyper-v-on-windows/user-guide), and in
 * Linux in net/vmw_vsock/hyperv_transport.c.
 */
struct guid guid_of_vsock_port(uint32_t port);

#endif
