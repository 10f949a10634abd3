/* SPDX-License-Identifier: MIT */
/* The agent's connection in the envelope form, and its scanner. The scanner finds the same ends if
 * it gets the bytes at once or in pieces. */
#include "agent_standin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare_scans(const uint8_t *data, size_t size)
{
	struct envelope_scan whole = {0}, parts = {0};
	size_t end = envelope_scan(&whole, data, size), found = 0;

	for (size_t have = 1; have <= size && !found; have++)
		found = envelope_scan(&parts, data, have);
	if (found != end || end > size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct standin s;
	size_t piece;
	bool open = true;

	if (size < 2)
		return 0;
	chance_state = data[0] * 2654435761u;
	piece = (size_t)data[1] * 8 + 1;
	data += 2;
	size -= 2;
	compare_scans(data, size);
	standin_begin(&s);
	open = standin_feed(&s, (const uint8_t *)" ", 1); /* this byte chooses the form */
	while (open && size > 0) {
		size_t n = piece < size ? piece : size;

		open = standin_feed(&s, data, n);
		data += n;
		size -= n;
	}
	standin_end(&s);
	return 0;
}
