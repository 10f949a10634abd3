/* SPDX-License-Identifier: MIT */
#include "netgate/dns_query.h"

#include <string.h>

#include "netgate/put.h"

enum {
	DNS_BYTES_MAX = 512,
	DNS_SHUT_FLAGS = 0xfecf, /* an answer, other kinds of query, truncated, reserved, a code;
				  * recursion and the two of DNSSEC are the asker's to wish for */
	DNS_OPT_SIZE = 3,	 /* in the record, where others have their class */
	DNS_OPT_CODE = 5,	 /* and a version */
	DNS_OPT_FLAGS = 7,
	DNS_OPT_DNSSEC = 0x8000,
	DNS_OPT_LENGTH = 9,
	DNS_OPT_RECORD = 11, /* with its name, the root */
	DNS_OPTION = 4,
	DNS_PADDING = 12,
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

	/* u16() of what is not there is 0. */
	if (b.len > DNS_BYTES_MAX || (u16(b, 2) & DNS_SHUT_FLAGS) || u16(b, 6) != 0 ||
	    u16(b, 8) != 0 || !dns_read_question(b, q))
		return false;
	struct bytes rest = behind(b, q->end);
	return records == 0 ? rest.len == 0 : records == 1 && is_opt_record(rest);
}

void dns_tame_query(uint8_t *datagram, size_t len, const struct dns_question *q)
{
	uint8_t *opt = datagram + q->end;
	const struct bytes record = {opt, len - q->end};
	size_t options = u16(record, DNS_OPT_LENGTH);

	if (!record.len)
		return;
	if (u16(record, DNS_OPT_SIZE) > DNS_ANSWER_MAX)
		put16(opt + DNS_OPT_SIZE, DNS_ANSWER_MAX);
	put16(opt + DNS_OPT_CODE, 0);
	put16(opt + DNS_OPT_FLAGS, u16(record, DNS_OPT_FLAGS) & DNS_OPT_DNSSEC);
	if (!options)
		return;
	memset(opt + DNS_OPT_RECORD, 0, options);
	put16(opt + DNS_OPT_RECORD, DNS_PADDING);
	put16(opt + DNS_OPT_RECORD + 2, (uint32_t)(options - DNS_OPTION));
}
