/* SPDX-License-Identifier: MIT */
/* First words of connections. The result does not change with the bytes that come after them, and a
 * name is one that a rule could have. */
#include <string.h>

#include "fuzz_input.h"
#include "netgate/opening.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef enum opening reader(struct bytes, struct host_name *);

static enum opening read_part(reader *read, const uint8_t *data, size_t len, struct host_name *name)
{
	uint8_t *copy = malloc(len ? len : 1);
	enum opening found;

	memcpy(copy, data, len);
	*name = (struct host_name){0};
	found = read((struct bytes){copy, len}, name);
	free(copy);
	if (found != OPENING_NAMED)
		return found;
	HOLDS(name->len && name->len == strlen(name->text));
	for (size_t i = 0; i < name->len; i++)
		HOLDS(name->text[i] == '.' ||
		      name->text[i] == egress_rule_letter((unsigned char)name->text[i]));
	return found;
}

static void check(reader *read, const uint8_t *data, size_t size)
{
	struct host_name name, before;
	enum opening whole = read_part(read, data, size, &name);

	for (size_t len = 0; len < size; len += 1 + len / 16) {
		enum opening part = read_part(read, data, len, &before);

		/* A result does not change when more bytes come. */
		HOLDS(part == OPENING_UNFINISHED || part == whole);
		HOLDS(part != OPENING_NAMED || host_name_equal(&name, &before));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > OPENING_BYTES)
		return 0;
	check(client_hello_read, data, size);
	check(request_head_read, data, size);
	return 0;
}
