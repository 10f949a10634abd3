/* SPDX-License-Identifier: MIT */
#include "mcp/out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

/* Whether a few bytes can be written without waiting. It is waited for as long as somebody might
 * still read. */
static bool can_write(const struct mcp_out *out)
{
	struct pollfd slots[] = {{.fd = out->fd, .events = POLLOUT},
				 {.fd = out->in},
				 {.fd = out->ended, .events = POLLIN}};
	int got;

	do
		got = poll(slots, ARRAY_SIZE(slots), -1);
	while (got < 0 && errno == EINTR);
	if (slots[0].revents || got < 0)
		return slots[0].revents & POLLOUT;
	/* It has hung up, or we are to end. */
	return poll(slots, 1, (int)limit_get(LIMIT_MCP_LAST_WORD_MS)) == 1 &&
	       slots[0].revents & POLLOUT;
}

/* So much at a time fits in where poll() says so, and a write does not wait. */
static bool write_line(const struct mcp_out *out, const char *bytes, size_t len)
{
	while (len > 0) {
		size_t some = len < PIPE_BUF ? len : PIPE_BUF;
		ssize_t n;

		if (!can_write(out))
			return false;
		n = write(out->fd, bytes, some);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

void out_send(struct mcp_out *out, json_t *message)
{
	autofree char *line = message ? json_line(message, NULL) : NULL;
	size_t len = line ? strlen(line) : 0;

	json_decref(message);
	if (!line)
		return;
	line[len] = '\n'; /* for the NUL */
	pthread_mutex_lock(&out->lock);
	if (!out->broken && !write_line(out, line, len + 1))
		out->broken = true;
	pthread_mutex_unlock(&out->lock);
}
