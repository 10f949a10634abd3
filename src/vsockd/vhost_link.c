/* SPDX-License-Identifier: MIT */
#include "vsockd/vhost_link.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES_PER_EVENT 32

void vhost_link_init(struct vhost_link *link, int fd)
{
	*link = (struct vhost_link){.fd = fd};
}

/* Keeps up to VHOST_FDS descriptors of a message, and closes any further ones, since no valid
 * message has more. */
static void keep_fds(struct vhost_message *m, const struct cmsghdr *c)
{
	unsigned n = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));

	for (unsigned i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		if (m->nfds < VHOST_FDS)
			m->fds[m->nfds++] = fd;
		else
			close(fd);
	}
}

/* Reads at most the missing bytes of the message, so that the descriptors of the next message are
 * not read together with them. Returns the result of recvmsg(). */
static ssize_t receive_part(struct vhost_link *link, void *to, size_t len)
{
	union {
		char space[CMSG_SPACE(VHOST_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = to, .iov_len = len};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(link->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (got < 0)
		return got;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			keep_fds(&link->message, c);
	return got;
}

/* Reads until `want` bytes of the message have come. Returns 1 if these bytes have come, 0 at the
 * end of the connection, or -1 with errno (EAGAIN: not all bytes have come yet). */
static int fill_message(struct vhost_link *link, uint32_t want)
{
	while (link->got < want) {
		bool in_header = link->got < VHOST_HEADER;
		uint8_t *to = in_header ? link->header + link->got
					: link->message.payload + link->got - VHOST_HEADER;
		ssize_t got = receive_part(link, to, want - link->got);

		if (got <= 0)
			return (int)got;
		link->got += (uint32_t)got;
	}
	return 1;
}

/* Reads a whole message. Returns 1 if the message has come, 0 at the end of the connection, or -1.
 * On -1 errno has the reason, or errno is 0 and *err has the reason. */
static int read_message(struct vhost_link *link, struct error *err)
{
	int rc = fill_message(link, VHOST_HEADER);

	if (rc <= 0)
		return rc;
	if (vhost_user_header(link->header, &link->message, err) < 0) {
		errno = 0;
		return -1;
	}
	return fill_message(link, VHOST_HEADER + link->message.size);
}

int vhost_link_read(struct vhost_link *link, struct device *device, struct error *err)
{
	struct vhost_reply reply;

	for (int i = 0; i < MESSAGES_PER_EVENT; i++) {
		int rc = read_message(link, err);

		if (rc < 0 && errno == EAGAIN)
			return 1;
		if (rc <= 0) {
			/* If the message never became complete, this loop closes its
			 * descriptors. */
			for (unsigned k = 0; k < link->message.nfds; k++)
				close(link->message.fds[k]);
			link->message.nfds = 0;
			link->got = 0;
			/* If the front-end was killed, its connection may end with ECONNRESET. */
			if (rc == 0 || errno == ECONNRESET)
				return 0;
			return errno ? error_errno(err, errno, "read from the front-end") : -1;
		}
		link->got = 0;
		if (vhost_user_handle(device, &link->message, &reply, err) < 0)
			return -1;
		struct iovec iov = {.iov_base = reply.bytes, .iov_len = reply.size};
		const struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
		/* Answers are short, and the front-end waits for each answer. So the socket has
		 * room, unless the other end does not follow the protocol. */
		ssize_t sent = reply.size ? sendmsg(link->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
		if (sent != reply.size)
			return error_errno(err, sent < 0 ? errno : EAGAIN, "answer the front-end");
	}
	return 2;
}
