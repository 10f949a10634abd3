/* SPDX-License-Identifier: MIT */
/* The end of what the guest's serial console said: guest bytes, of which only a bounded part is kept. */
#ifndef SUPERVISOR_LAST_WORDS_H
#define SUPERVISOR_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAST_WORDS_BYTES 512

struct last_words {
	char text[LAST_WORDS_BYTES]; /* the newest bytes, of which the oldest are dropped */
	size_t len;
};

void last_words_add(struct last_words *words, const uint8_t *bytes, size_t len);
/* Whether init's line of an orderly end (base/agent_wire.h) is the last one, but for what the kernel
 * says of the restart behind it. */
bool last_words_tell_order(const struct last_words *words);

#endif
