/* SPDX-License-Identifier: MIT */
#include "supervisor/live/last_words.h"

#include <string.h>

#include "base/agent_wire.h"

#define LINE INIT_LINE_PREFIX ORDERLY_END_LINE
/* The beginning of the kernel's line "reboot: Restarting system" (kernel/reboot.c and
 * arch/x86/kernel/reboot.c). */
#define KERNEL_SAYS "reboot: "

void last_words_add(struct last_words *words, const uint8_t *bytes, size_t len)
{
	size_t room = sizeof(words->text) - words->len;

	if (len > sizeof(words->text)) {
		bytes += len - sizeof(words->text);
		len = sizeof(words->text);
	}
	if (len > room) {
		memmove(words->text, words->text + (len - room), words->len - (len - room));
		words->len -= len - room;
	}
	memcpy(words->text + words->len, bytes, len);
	words->len += len;
}

static bool is_line_end(char c)
{
	return c == '\r' || c == '\n';
}

/* Returns the last line that is not empty in the first *len bytes of `text`, and sets *line_len to
 * its length. Sets *len to the number of bytes before that line. Returns "" with a *line_len of 0
 * if there is no such line. */
static const char *take_last_line(const char *text, size_t *len, size_t *line_len)
{
	size_t end = *len, begin;

	while (end > 0 && is_line_end(text[end - 1]))
		end--;
	begin = end;
	while (begin > 0 && !is_line_end(text[begin - 1]))
		begin--;
	*len = begin;
	*line_len = end - begin;
	return text + begin;
}

/* Returns true if the line is the one that microagent-init writes when it ends the machine in
 * order. The line may begin with unfinished output of another program. */
static bool is_orderly(const char *line, size_t len)
{
	size_t wanted = sizeof(LINE) - 1;

	return len >= wanted && memcmp(line + len - wanted, LINE, wanted) == 0;
}

bool last_words_tell_order(const struct last_words *words)
{
	size_t left = words->len, len;
	const char *line;

	do
		line = take_last_line(words->text, &left, &len);
	while (len > 0 && memmem(line, len, KERNEL_SAYS, sizeof(KERNEL_SAYS) - 1));
	return is_orderly(line, len);
}
