/* SPDX-License-Identifier: MIT */
#include "netgate/names.h"

#include <string.h>

static int number_of_rule(const struct names *names, const struct egress_rule *rule)
{
	for (int i = 0; i < EGRESS_NAMES_MAX; i++)
		if (names->used[i] && egress_rule_same(&names->rules[i], rule))
			return i;
	return -1;
}

int names_add(struct names *names, const struct egress_rule *rule)
{
	int number = number_of_rule(names, rule);

	for (int i = 0; number < 0 && i < EGRESS_NAMES_MAX; i++)
		if (!names->used[i])
			number = i;
	if (number >= 0) {
		names->rules[number] = *rule;
		names->used[number] = true;
	}
	return number;
}

int names_remove(struct names *names, const struct egress_rule *rule)
{
	int number = number_of_rule(names, rule);

	if (number >= 0)
		names->used[number] = false;
	return number;
}

int names_next(const struct names *names, const struct host_name *name, int from)
{
	/* A name with a '?' is covered by no rule, not even by a rule with "*.". The '?' stands for
	 * any byte that a name cannot have. So two different names could have the same text in the
	 * lines to the supervisor. */
	if (memchr(name->text, HOST_NAME_NO_LETTER, name->len))
		return -1;
	for (int i = from; i < EGRESS_NAMES_MAX; i++)
		if (names->used[i] && egress_rule_covers(&names->rules[i], name->text, name->len))
			return i;
	return -1;
}
