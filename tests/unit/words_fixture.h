/* SPDX-License-Identifier: MIT */
/* Connections whose first words the filter reads, to an address of two names. */
#ifndef WORDS_FIXTURE_H
#define WORDS_FIXTURE_H

#include "by_name_fixture.h"

#define WORDS_AT (GUEST_STARTS + 1)
#define TLS_LINE "tls 10.0.2.15:40000 -> 151.101.0.223:443 "
#define TCP_LINE "tcp 10.0.2.15:40000 -> 151.101.0.223:443 "

static inline int words_setup(void **state)
{
	if (bed_setup(state) < 0)
		return -1;
	struct bed *b = *state;

	allow(b, "pypi.org");
	allow(b, "*.x.org");
	resolve(b, "pypi.org", SITE);
	expect_told(b, "dns pypi.org A");
	return 0;
}

static inline struct frame say_hello(struct hello h, size_t from, size_t to)
{
	return say(SITE, 443, WORDS_AT + (uint32_t)from, h.bytes + from, to - from);
}

static inline void open_tls(struct bed *b)
{
	connect_to(b, SITE, 443);
	expect_told(b, NULL);
}

#endif
