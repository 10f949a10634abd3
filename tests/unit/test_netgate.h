/* SPDX-License-Identifier: MIT */
/* Frames of a guest, for the filter's tests. */
#ifndef TEST_NETGATE_H
#define TEST_NETGATE_H

#include "test_base.h"

#include <arpa/inet.h>

#include "netgate/put.h"
#include "netgate/screen.h"

#define GUEST 0x0a00020fu /* 10.0.2.15 */
#define DNS 0x0a000203u	  /* 10.0.2.3 */
#define PUBLIC 0x08080808u
#define ADDRESS(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static const uint8_t guest_mac[6] = {0x52, 0x54, 0, 1, 2, 3};

struct frame {
	size_t len;
	uint8_t bytes[2048];
};

static inline struct frame frame_of(unsigned ethertype, size_t len)
{
	struct frame f = {.len = len};

	memset(f.bytes, 0x22, 6);
	memcpy(f.bytes + 6, guest_mac, 6);
	put16(f.bytes + 12, ethertype);
	return f;
}

static inline struct frame ipv4(uint8_t protocol, uint32_t to, size_t payload)
{
	struct frame f = frame_of(0x0800, 14 + 20 + payload);
	uint8_t *ip = f.bytes + 14;

	ip[0] = 0x45;
	put16(ip + 2, (unsigned)(20 + payload));
	put16(ip + 6, 0x4000);
	ip[8] = 64;
	ip[9] = protocol;
	put32(ip + 12, GUEST);
	put32(ip + 16, to);
	return f;
}

static inline struct frame tcp(uint32_t to, unsigned port, uint8_t flags)
{
	struct frame f = ipv4(6, to, 20);
	uint8_t *t = f.bytes + 34;

	put16(t, 40000);
	put16(t + 2, port);
	t[12] = 0x50;
	t[13] = flags;
	return f;
}

static inline struct frame udp(uint32_t to, unsigned port)
{
	struct frame f = ipv4(17, to, 12);
	uint8_t *u = f.bytes + 34;

	put16(u, 40001);
	put16(u + 2, port);
	put16(u + 4, 12);
	return f;
}

/* Makes a question for "a.bc" behind the header, and `more` bytes after it. */
static inline struct frame dns_query(size_t more)
{
	static const uint8_t query[] = {0x12, 0x34, 0x01, 0x20, 0,   1,	  0, 0, 0, 0, 0,
					0,    1,    'a',  2,	'b', 'c', 0, 0, 1, 0, 1};
	struct frame f = ipv4(17, DNS, 8 + sizeof(query) + more);
	uint8_t *u = f.bytes + 34;

	put16(u, 40001);
	put16(u + 2, 53);
	put16(u + 4, (unsigned)(8 + sizeof(query) + more));
	memcpy(u + 8, query, sizeof(query));
	return f;
}

static inline struct frame echo_request(uint32_t to)
{
	struct frame f = ipv4(1, to, 8);

	f.bytes[34] = 8;
	put16(f.bytes + 38, 7);
	return f;
}

static inline struct frame arp(uint32_t sender)
{
	struct frame f = frame_of(0x0806, 14 + 28);
	uint8_t *a = f.bytes + 14;

	put16(a, 1);
	put16(a + 2, 0x0800);
	a[4] = 6;
	a[5] = 4;
	put16(a + 6, 1);
	memcpy(a + 8, guest_mac, 6);
	put32(a + 14, sender);
	put32(a + 24, 0x0a000202);
	return f;
}

static inline void screen_of_guest(struct screen *s)
{
	*s = (struct screen){.guest = GUEST, .dns = DNS};
	memcpy(s->guest_mac, guest_mac, 6);
}

#endif
