/* SPDX-License-Identifier: MIT */
#include "channel/connection.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "channel/dial.h"

void connection_init(struct connection *connection)
{
	connection->fd = -1;
	connection->ended = false;
	calls_init(&connection->calls);
}

int connection_open(struct connection *connection, int dirfd, struct error *err)
{
	autoclose int fd = sock_connect_at(dirfd, dial_way(dirfd, AGENT_PORT), err);

	connection_init(connection);
	if (fd < 0 || calls_init_dial(&connection->calls, err) < 0)
		return -1;
	connection->fd = steal_fd(&fd);
	return 0;
}

void connection_close(struct connection *connection)
{
	cleanup_close(&connection->fd);
	calls_free(&connection->calls);
}

int connection_resume(struct connection *connection, int fd, struct error *err)
{
	cleanup_close(&connection->fd);
	connection->fd = fd;
	connection->ended = false;
	return calls_resume(&connection->calls, err);
}

int connection_send(struct connection *connection, struct error *err)
{
	struct buf *out = &connection->calls.out;

	while (out->len > 0) {
		ssize_t n =
			send(connection->fd, buf_bytes(out), out->len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			n = (ssize_t)out->len;
		else if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "cannot send to the guest");
		if (n > 0)
			buf_consume(out, (size_t)n);
	}
	return 0;
}

int connection_receive(struct connection *connection, struct error *err)
{
	size_t room = 0;
	uint8_t *space = calls_space(&connection->calls, &room, err);
	ssize_t n;

	if (!space)
		return -1;
	/* recv() is not called without room: its result 0 would look like the end of the
	 * connection. The caller makes room by taking items. */
	if (room == 0)
		return 0;
	n = recv(connection->fd, space, room, MSG_DONTWAIT);
	if (n > 0)
		buf_commit(&connection->calls.in, (size_t)n);
	else if (n == 0 || errno == ECONNRESET)
		connection->ended = true;
	else if (errno != EAGAIN && errno != EINTR)
		return error_errno(err, errno, "cannot receive from the guest");
	return 0;
}
