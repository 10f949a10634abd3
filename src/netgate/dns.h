/* SPDX-License-Identifier: MIT */
/* What messages of DNS (RFC 1035) are made of. */
#ifndef NETGATE_DNS_H
#define NETGATE_DNS_H

#include "netgate/host_name.h"

enum {
	DNS_PORT = 53,
	DNS_HEADER = 12,
	DNS_TYPE_AND_CLASS = 4, /* of a question, behind its name */
	DNS_ANSWER = 0x8000,	/* of the flags */
	DNS_OPCODE = 0x7800,
	DNS_TRUNCATED = 0x0200,
	DNS_RECURSION_WISHED = 0x0100,
	DNS_RECURSION = 0x0180, /* wished for, and to be had */
	DNS_CODE = 0x000f,
	DNS_OK = 0,
	DNS_SERVER_FAILED = 2,
	DNS_NO_SUCH_NAME = 3,
	DNS_IN = 1, /* the class */
	DNS_A = 1,
	DNS_CNAME = 5,
	DNS_AAAA = 28,
	DNS_OPT = 41,
	DNS_NAME_MAX = 255,  /* bytes of a name in a message */
	DNS_BYTES_MAX = 512, /* bytes of a message to somebody who does not speak EDNS */
	/* All of the internet carries 1,232 without fragments. glibc's resolver takes 1,200, and a size
	 * of its own for each kind of guest would say something of the guest. */
	DNS_ANSWER_MAX = 1200
};

struct dns_question {
	uint16_t id, type, class;
	uint16_t end;  /* where it ends in its message */
	uint16_t room; /* for the answer, as its EDNS says: 0 without EDNS, DNS_BYTES_MAX or
			* DNS_ANSWER_MAX */
	struct host_name name;
};

/* Bytes of a question's name in its message, where it is behind the header. */
static inline size_t dns_name_bytes(const struct dns_question *question)
{
	return (size_t)question->end - DNS_HEADER - DNS_TYPE_AND_CLASS;
}

/* The name that begins there; pointers lead back alone, and not into the header. The bytes that it
 * takes at its place, 0: it is none. */
size_t dns_read_name(struct bytes message, size_t start, struct host_name *name);
/* The one question of a message; room is 0. */
bool dns_read_question(struct bytes message, struct dns_question *question);
/* A message without records: its header and the question of the other one; at most DNS_ANSWER_MAX
 * bytes. Returns its length. */
size_t dns_make_answer(uint8_t *out, struct bytes message, const struct dns_question *question,
		       unsigned code);

#endif
