/* SPDX-License-Identifier: MIT */
#include "netgate/dns.h"

enum {
	DNS_HEADER = 12,
	DNS_BYTES_MAX = 512,
	DNS_NAME_MAX = 255,
	DNS_LABEL_MAX = 63,
	DNS_SHUT_FLAGS = 0xfecf, /* an answer, other kinds of query, truncated, reserved, a code;
				  * recursion and the two of DNSSEC are the asker's to wish for */
	DNS_QUESTION = 4,	 /* type and class, behind the name */
	DNS_OPT = 41,
	DNS_OPT_RECORD = 11, /* with its name, the root */
};

/* The bytes of an uncompressed name at the beginning; 0: it is none. */
static size_t name_length(struct bytes b)
{
	size_t at = 0;

	while (at < b.len && b.at[at]) {
		if (b.at[at] > DNS_LABEL_MAX)
			return 0;
		at += (size_t)b.at[at] + 1;
	}
	return at < b.len && at < DNS_NAME_MAX ? at + 1 : 0;
}

static bool is_opt_record(struct bytes b)
{
	return b.len >= DNS_OPT_RECORD && u8(b, 0) == 0 && u16(b, 1) == DNS_OPT &&
	       u16(b, 9) == b.len - DNS_OPT_RECORD;
}

bool dns_is_query(struct bytes b)
{
	struct bytes question = behind(b, DNS_HEADER);
	size_t name = name_length(question);
	struct bytes rest = behind(question, name + DNS_QUESTION);
	unsigned records = u16(b, 10);

	/* u16() of what is not there is 0. */
	if (b.len < DNS_HEADER || b.len > DNS_BYTES_MAX || (u16(b, 2) & DNS_SHUT_FLAGS) ||
	    u16(b, 4) != 1 || u16(b, 6) != 0 || u16(b, 8) != 0 || !name ||
	    question.len < name + DNS_QUESTION)
		return false;
	return records == 0 ? rest.len == 0 : records == 1 && is_opt_record(rest);
}
