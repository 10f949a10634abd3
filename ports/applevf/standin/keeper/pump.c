/* SPDX-License-Identifier: MIT */
/* Moves the bytes of the serial port. The client's descriptors keep their mode, since other
 * processes that share them have the same mode. So they are read and written only when poll() says
 * that it is possible, and a write has at most the size for which a pipe has room then. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "keeper.h"

short pump_wants_in(const struct pump *pump)
{
	return pump->from >= 0 && !pump->at_end && pump->length == 0 ? POLLIN : 0;
}

short pump_wants_out(const struct pump *pump)
{
	return pump->length > 0 ? POLLOUT : 0;
}

void pump_in(struct pump *pump)
{
	ssize_t n = read(pump->from, pump->bytes, sizeof(pump->bytes));

	if (n > 0)
		pump->length = (size_t)n;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		pump->at_end = true;
	if (n > 0 && pump->to < 0)
		pump->length = 0;
}

/* The bytes for an end that cannot be written to any more are lost. */
void pump_out(struct pump *pump)
{
	size_t some = pump->length < PIPE_BUF ? pump->length : PIPE_BUF;
	ssize_t n = write(pump->to, pump->bytes, some);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0) {
		pump->to = -1;
		pump->length = 0;
		return;
	}
	pump->length -= (size_t)n;
	memmove(pump->bytes, pump->bytes + n, pump->length);
}
