/* SPDX-License-Identifier: MIT */
#include "netgate/dns_answer.h"

#include "netgate/put.h"

#define CHAIN_MAX 8

struct record {
	struct host_name owner;
	uint16_t type;
	size_t ttl, data, len; /* ttl, data: offsets in the message; len: length of the data; all in
			        * bytes */
};

/* Reads the record that begins at the offset `at`. Returns the offset of the record's end; 0 if the
 * record is not whole. */
static size_t read_dns_record(struct bytes b, size_t at, struct record *r)
{
	enum { CLASS = 2, TTL = 4, LENGTH = 8, FIXED = 10 };
	size_t name = dns_read_name(b, at, &r->owner);
	const struct bytes fixed = behind(b, at + name);

	if (!name || fixed.len < FIXED || fixed.len - FIXED < u16(fixed, LENGTH))
		return 0;
	/* A record of another class than DNS_IN gets the type 0, so that it is ignored. */
	r->type = u16(fixed, CLASS) == DNS_IN ? (uint16_t)u16(fixed, 0) : 0;
	r->ttl = at + name + TTL;
	r->data = at + name + FIXED;
	r->len = u16(fixed, LENGTH);
	return r->data + r->len;
}

/* An iterator over the records of an answer. */
struct records {
	struct bytes message;
	size_t at;
	unsigned left;
};

static struct records records_of(struct bytes b, const struct dns_question *q)
{
	return (struct records){b, q->end, u16(b, 6)};
}

static bool next_record(struct records *all, struct record *r)
{
	if (!all->left)
		return false;
	all->left--;
	all->at = read_dns_record(all->message, all->at, r);
	return all->at != 0;
}

bool dns_answers(struct bytes b, const struct dns_question *q)
{
	struct dns_question theirs;

	return (u16(b, 2) & (DNS_ANSWER | DNS_OPCODE)) == DNS_ANSWER &&
	       dns_read_question(b, &theirs) && theirs.id == q->id && theirs.type == q->type &&
	       theirs.class == q->class && host_name_equal(&theirs.name, &q->name);
}

static bool are_whole(struct bytes b, const struct dns_question *q)
{
	struct records all = records_of(b, q);
	struct record r;

	while (next_record(&all, &r))
		if (r.type == DNS_A && r.len != 4)
			return false;
	return all.at != 0;
}

/* Looks for an alias record of *name. If it exists, sets *name to the name for which the alias
 * stands and returns 1. Returns 0 if *name is not an alias, -1 if the alias stands for no valid
 * name. */
static int follow_alias(struct bytes b, const struct dns_question *q, struct host_name *name)
{
	struct records all = records_of(b, q);
	struct record r;

	while (next_record(&all, &r))
		if (r.type == DNS_CNAME && host_name_equal(&r.owner, name))
			return dns_read_name(b, r.data, name) == r.len ? 1 : -1;
	return 0;
}

static void collect_addresses(struct bytes b, const struct dns_question *q,
			      const struct host_name *name, struct dns_answer *answer)
{
	struct records all = records_of(b, q);
	struct record r;

	answer->count = 0;
	while (next_record(&all, &r) && answer->count < DNS_ADDRESSES_MAX)
		if (r.type == DNS_A && host_name_equal(&r.owner, name))
			answer->addresses[answer->count++] =
				(struct dns_address){u32(b, r.data), u32(b, r.ttl)};
}

bool dns_read_answer(struct bytes b, const struct dns_question *q, struct dns_answer *answer)
{
	struct host_name name = q->name;
	int followed = 1;

	if (b.len > DNS_ANSWER_MAX || !are_whole(b, q))
		return false;
	for (int i = 0; i <= CHAIN_MAX && followed > 0; i++)
		followed = follow_alias(b, q, &name);
	if (followed != 0)
		return false;
	answer->truncated = u16(b, 2) & DNS_TRUNCATED;
	collect_addresses(b, q, &name, answer);
	return true;
}

void dns_cap_ttls(uint8_t *datagram, size_t len, const struct dns_question *q, uint32_t seconds)
{
	const struct bytes b = {datagram, len};
	struct records all = records_of(b, q);
	struct record r;

	while (next_record(&all, &r))
		if (u32(b, r.ttl) > seconds)
			put32(datagram + r.ttl, seconds);
}
