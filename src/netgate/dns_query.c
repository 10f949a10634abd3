/* SPDX-License-Identifier: MIT */
#include "netgate/dns_query.h"

#include <string.h>

#include "netgate/put.h"

enum {
	/* The flags that a question must not have: the flags of an answer, of other kinds of query,
	 * of a truncated message, reserved flags, and a response code. A question may have the flag
	 * for recursion and the two flags of DNSSEC. */
	DNS_SHUT_FLAGS = 0xfecf,
	/* The offset of the size in the EDNS record. Other records have their class at this
	 * offset. */
	DNS_OPT_SIZE = 3,
	DNS_OPT_LENGTH = 9,
	/* The bytes of the EDNS record without options. Its name is the root, which is one byte. */
	DNS_OPT_RECORD = 11,
	DNS_OPTION = 4,
};

static bool is_opt_record(struct bytes b)
{
	size_t options = u16(b, DNS_OPT_LENGTH);

	return b.len >= DNS_OPT_RECORD && u8(b, 0) == 0 && u16(b, 1) == DNS_OPT &&
	       options == b.len - DNS_OPT_RECORD && (options == 0 || options >= DNS_OPTION);
}

bool dns_read_query(struct bytes b, struct dns_question *q)
{
	unsigned records = u16(b, 10);

	/* If the message is too short for these values, u16() returns 0 for them. */
	if (b.len > DNS_BYTES_MAX || (u16(b, 2) & DNS_SHUT_FLAGS) || u16(b, 6) != 0 ||
	    u16(b, 8) != 0 || !dns_read_question(b, q))
		return false;
	struct bytes rest = behind(b, q->end);
	if (records == 0)
		return rest.len == 0;
	q->room = u16(rest, DNS_OPT_SIZE) < DNS_ANSWER_MAX ? DNS_BYTES_MAX : DNS_ANSWER_MAX;
	return records == 1 && is_opt_record(rest);
}

/* Writes a name as DNS messages have it: as labels, each with its length before it. The name must
 * be a name that a rule could contain. Returns the number of bytes. */
static size_t put_name(uint8_t *out, const struct host_name *name)
{
	size_t length_at = 0;

	for (size_t i = 0; i < name->len; i++) {
		out[i + 1] = (uint8_t)name->text[i];
		if (name->text[i] != '.')
			continue;
		out[length_at] = (uint8_t)(i - length_at);
		length_at = i + 1;
	}
	out[length_at] = (uint8_t)(name->len - length_at);
	out[name->len + 1] = 0;
	return name->len + 2u;
}

size_t dns_make_query(uint8_t *out, const struct dns_question *q)
{
	size_t at = DNS_HEADER;

	memset(out, 0, DNS_QUERY_MAX);
	put16(out, q->id);
	put16(out + 2, DNS_RECURSION_WISHED);
	put16(out + 4, 1);
	at += put_name(out + at, &q->name);
	put16(out + at, q->type);
	put16(out + at + 2, q->class);
	at += DNS_TYPE_AND_CLASS;
	if (!q->room)
		return at;
	put16(out + 10, 1);
	put16(out + at + 1, DNS_OPT);
	put16(out + at + DNS_OPT_SIZE, q->room);
	return at + DNS_OPT_RECORD;
}
