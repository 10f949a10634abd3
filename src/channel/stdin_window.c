/* SPDX-License-Identifier: MIT */
#include "channel/stdin_window.h"

#include "base/limits.h"
#include "channel/agent_message.h"

size_t stdin_window_room(const struct stdin_window_sender *window)
{
	uint64_t most = limit_get(LIMIT_STDIN_WINDOW_BYTES);
	uint64_t flying = window->sent - window->taken;

	if (window->none)
		return SIZE_MAX;
	return flying < most ? (size_t)(most - flying) : 0;
}

int stdin_window_take(struct stdin_window_sender *window, const struct agent_message *message,
		      struct error *err)
{
	uint64_t offset = message->stdin_offset;

	if (!message->tells_stdin) {
		window->none = true;
		return 0;
	}
	if (offset < window->taken || offset > window->sent)
		return error_set(err, ERR_IO,
				 "bad message from the guest agent: it cannot have taken %llu "
				 "bytes of stdin",
				 (unsigned long long)offset);
	window->taken = offset;
	return 0;
}
