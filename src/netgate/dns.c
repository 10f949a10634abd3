/* SPDX-License-Identifier: MIT */
#include "netgate/dns.h"

#include <string.h>

#include "netgate/put.h"

enum {
	DNS_LABEL_MAX = 63,
	DNS_POINTER = 0xc0,
};

size_t dns_read_name(struct bytes message, size_t start, struct host_name *name)
{
	size_t at = start, before = start, taken = 0;

	*name = (struct host_name){0};
	while (at < message.len) {
		size_t len = message.at[at];

		if ((len & DNS_POINTER) == DNS_POINTER) {
			size_t to = u16(message, at) & 0x3fff;

			/* Each pointer must lead to an offset below the offset to which the
			 * previous pointer has led. So a name cannot be endless. */
			if (message.len - at < 2 || to < DNS_HEADER || to >= before)
				return 0;
			taken = taken ? taken : at + 2 - start;
			before = at = to;
			continue;
		}
		if (!len)
			return taken ? taken : at + 1 - start;
		if (len > DNS_LABEL_MAX || len >= message.len - at ||
		    !host_name_add_label(name, (struct bytes){message.at + at + 1, len}))
			return 0;
		at += len + 1;
	}
	return 0;
}

bool dns_read_question(struct bytes b, struct dns_question *q)
{
	size_t name = dns_read_name(b, DNS_HEADER, &q->name),
	       end = DNS_HEADER + name + DNS_TYPE_AND_CLASS;

	if (!name || u16(b, 4) != 1 || b.len < end)
		return false;
	q->id = (uint16_t)u16(b, 0);
	q->type = (uint16_t)u16(b, DNS_HEADER + name);
	q->class = (uint16_t)u16(b, DNS_HEADER + name + 2);
	q->end = (uint16_t)end;
	q->room = 0;
	return true;
}

size_t dns_make_answer(uint8_t *out, struct bytes message, const struct dns_question *q,
		       unsigned code)
{
	memcpy(out, message.at, q->end);
	put16(out + 2, DNS_ANSWER | DNS_RECURSION | code);
	memset(out + 6, 0, DNS_HEADER - 6);
	return q->end;
}
