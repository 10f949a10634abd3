/* SPDX-License-Identifier: MIT */
#include "netgate/host_name.h"

#include <string.h>

static void append_letter(struct host_name *name, char letter)
{
	name->text[name->len++] = letter;
	name->text[name->len] = '\0';
}

bool host_name_add_label(struct host_name *name, struct bytes label)
{
	size_t dot = name->len != 0;

	if (label.len + dot > (size_t)EGRESS_NAME_MAX - name->len)
		return false;
	if (dot)
		append_letter(name, '.');
	for (size_t i = 0; i < label.len; i++) {
		char letter = egress_rule_letter(label.at[i]);

		append_letter(name, letter ? letter : HOST_NAME_NO_LETTER);
	}
	return true;
}

bool host_name_take(struct host_name *name, struct bytes text)
{
	*name = (struct host_name){0};
	if (!text.len || text.len > EGRESS_NAME_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		bool dot = text.at[i] == '.';
		char letter = dot ? '.' : egress_rule_letter(text.at[i]);

		if (!letter || (dot && (i == 0 || i + 1 == text.len || text.at[i - 1] == '.')))
			return false;
		append_letter(name, letter);
	}
	return true;
}

bool host_name_equal(const struct host_name *a, const struct host_name *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}
