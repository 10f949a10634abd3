/* SPDX-License-Identifier: MIT */
/* The parts of DNS messages (RFC 1035). */
#ifndef NETGATE_DNS_H
#define NETGATE_DNS_H

#include "netgate/host_name.h"

enum {
	DNS_PORT = 53,
	DNS_HEADER = 12,
	DNS_TYPE_AND_CLASS = 4, /* the size in bytes of the type and class of a question, which
				 * follow the question's name */
	/* Bits of the flags in the header: */
	DNS_ANSWER = 0x8000,
	DNS_OPCODE = 0x7800,
	DNS_TRUNCATED = 0x0200,
	DNS_RECURSION_WISHED = 0x0100,
	DNS_RECURSION = 0x0180, /* the flags that recursion is wished for, and that it is
				 * available */
	DNS_CODE = 0x000f,
	/* Values of DNS_CODE: */
	DNS_OK = 0,
	DNS_SERVER_FAILED = 2,
	DNS_NO_SUCH_NAME = 3,
	DNS_IN = 1, /* the class of the internet */
	/* Types of records: */
	DNS_A = 1,
	DNS_CNAME = 5,
	DNS_AAAA = 28,
	DNS_OPT = 41,
	DNS_NAME_MAX = 255,  /* longest name in a message, in bytes */
	DNS_BYTES_MAX = 512, /* longest answer to a question without EDNS, in bytes */
	/* The longest answer to a question with EDNS, in bytes. Every path of the internet carries
	 * 1,232 bytes without fragments, and glibc's resolver takes 1,200. netgate asks for this
	 * size for all guests, since from different sizes outsiders could learn something about a
	 * guest. */
	DNS_ANSWER_MAX = 1200
};

struct dns_question {
	uint16_t id, type, class;
	uint16_t end; /* offset in bytes of the end of the question in its message */
	/* the number of bytes that an answer may have, by the EDNS of the question: DNS_BYTES_MAX
	 * or DNS_ANSWER_MAX; 0: the question has no EDNS */
	uint16_t room;
	struct host_name name;
};

/* Returns how many bytes the question's name has in its message. The name follows the header. */
static inline size_t dns_name_bytes(const struct dns_question *question)
{
	return (size_t)question->end - DNS_HEADER - DNS_TYPE_AND_CLASS;
}

/* Reads the name that begins at the offset `start`. Pointers in the name may only lead backwards,
 * and not into the header. Returns how many bytes the name has at `start`; 0 if no valid name
 * begins there. */
size_t dns_read_name(struct bytes message, size_t start, struct host_name *name);
/* Reads the question of a message, and sets its room to 0. Returns false if the message does not
 * have exactly one question. */
bool dns_read_question(struct bytes message, struct dns_question *question);
/* Makes an answer without records: a header with the code `code`, and the question of `message`.
 * The answer has at most DNS_ANSWER_MAX bytes. Returns the length of the answer. */
size_t dns_make_answer(uint8_t *out, struct bytes message, const struct dns_question *question,
		       unsigned code);

#endif
