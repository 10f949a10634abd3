/* SPDX-License-Identifier: MIT */
/* The parts of DNS messages (RFC 1035). */
#ifndef NETGATE_DNS_H
#define NETGATE_DNS_H

#include "netgate/host_name.h"

enum {
	DNS_PORT = 53,
	DNS_HEADER = 12,
	DNS_TYPE_AND_CLASS = 4, /* bytes of a question's type and class, which follow its name */
	DNS_ANSWER = 0x8000,	/* in the flags, as the next ones */
	DNS_OPCODE = 0x7800,
	DNS_TRUNCATED = 0x0200,
	DNS_RECURSION_WISHED = 0x0100,
	DNS_RECURSION = 0x0180, /* recursion is wished for, and is available */
	DNS_CODE = 0x000f,
	DNS_OK = 0,
	DNS_SERVER_FAILED = 2,
	DNS_NO_SUCH_NAME = 3,
	DNS_IN = 1, /* the class */
	DNS_A = 1,
	DNS_CNAME = 5,
	DNS_AAAA = 28,
	DNS_OPT = 41,
	DNS_NAME_MAX = 255,  /* longest name in a message, in bytes */
	DNS_BYTES_MAX = 512, /* longest message to an asker without EDNS, in bytes */
	/* Every path of the internet carries 1,232 bytes without fragments. glibc's resolver takes
	 * 1,200. netgate uses one size for all guests: a size for each kind of guest would tell
	 * outsiders about the guest. */
	DNS_ANSWER_MAX = 1200
};

struct dns_question {
	uint16_t id, type, class;
	uint16_t end;  /* offset of its end in its message */
	uint16_t room; /* for the answer, as its EDNS says: 0 without EDNS, DNS_BYTES_MAX or
			* DNS_ANSWER_MAX */
	struct host_name name;
};

/* Returns how many bytes the question's name takes in its message. The name follows the header. */
static inline size_t dns_name_bytes(const struct dns_question *question)
{
	return (size_t)question->end - DNS_HEADER - DNS_TYPE_AND_CLASS;
}

/* Reads the name that begins at start. Pointers in the name may only lead backwards, and not into
 * the header. Returns how many bytes the name takes at start; 0 if there is no valid name. */
size_t dns_read_name(struct bytes message, size_t start, struct host_name *name);
/* Reads the only question of a message, and sets room to 0. Returns false if there is none. */
bool dns_read_question(struct bytes message, struct dns_question *question);
/* Makes a message without records: its header and the question of the given message, at most
 * DNS_ANSWER_MAX bytes. Returns the length. */
size_t dns_make_answer(uint8_t *out, struct bytes message, const struct dns_question *question,
		       unsigned code);

#endif
