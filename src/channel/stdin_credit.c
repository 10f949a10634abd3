/* SPDX-License-Identifier: MIT */
#include "channel/stdin_credit.h"

#include "base/limits.h"
#include "channel/agent_message.h"

size_t stdin_credit_room(const struct stdin_credit *credit)
{
	uint64_t window = limit_get(LIMIT_STDIN_WINDOW_BYTES);
	uint64_t flying = credit->sent - credit->taken;

	if (credit->none)
		return SIZE_MAX;
	return flying < window ? (size_t)(window - flying) : 0;
}

int stdin_credit_take(struct stdin_credit *credit, const struct agent_message *message,
		      struct error *err)
{
	uint64_t offset = message->stdin_offset;

	if (!message->tells_stdin) {
		credit->none = true;
		return 0;
	}
	if (offset < credit->taken || offset > credit->sent)
		return error_set(err, ERR_IO,
				 "bad message from the guest agent: it cannot have taken %llu "
				 "bytes of stdin",
				 (unsigned long long)offset);
	credit->taken = offset;
	return 0;
}
