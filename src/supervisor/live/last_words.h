/* SPDX-License-Identifier: MIT */
/* The last LAST_WORDS_BYTES bytes of the guest's serial console. The guest has written them, so
 * they are not trusted. */
#ifndef SUPERVISOR_LAST_WORDS_H
#define SUPERVISOR_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAST_WORDS_BYTES 512

struct last_words {
	char text[LAST_WORDS_BYTES]; /* the latest bytes; older bytes are dropped */
	size_t len;
};

void last_words_add(struct last_words *words, const uint8_t *bytes, size_t len);
/* Returns true if the last line is the one that microagent-init writes when it ends the machine in
 * order (base/agent_wire.h). Lines of the kernel about the restart may follow that line. */
bool last_words_tell_order(const struct last_words *words);

#endif
