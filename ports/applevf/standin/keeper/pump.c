/* SPDX-License-Identifier: MIT */
/* Copies the bytes of the serial port. The code does not make the client's file descriptors
 * non-blocking, because that would change them for other processes that share them. So the code
 * reads and writes these file descriptors only when poll() reports that a read or write is
 * possible. The code writes at most PIPE_BUF bytes at a time, since a pipe that is writable has
 * room for as many. */
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

/* Writes the bytes that were read, or drops the bytes if `to` has no reader any more. */
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
