/* SPDX-License-Identifier: MIT */
/* Sends and receives bytes together with descriptors, over a Unix socket. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/platform/descriptor.h"

union passing {
	struct cmsghdr header;
	char room[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
};

ssize_t fd_send_passing(int sock, const void *data, size_t len, const int *fds, size_t nfds,
			int flags)
{
	struct iovec bytes = {(void *)(uintptr_t)data, len};
	union passing control = {0};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
	ssize_t n;

	if (nfds > FD_PASS_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (nfds > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		control.header.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.header), fds, nfds * sizeof(int));
	}
	do
		n = sendmsg(sock, &message, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Appends as many of the received descriptors as `fds` has room for, and closes the rest of them.
 * Returns the new number of descriptors in `fds`. */
static size_t take_passed(struct cmsghdr *header, int *fds, size_t count, size_t most)
{
	size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int passed[FD_PASS_MAX];

	n = n < FD_PASS_MAX ? n : FD_PASS_MAX;
	memcpy(passed, CMSG_DATA(header), n * sizeof(int));
	for (size_t i = 0; i < n; i++) {
		if (count < most)
			fds[count++] = passed[i];
		else
			close(passed[i]);
	}
	return count;
}

ssize_t fd_receive_passed(int sock, void *data, size_t len, int *fds, size_t *nfds, int flags)
{
	struct iovec bytes = {data, len};
	union passing control;
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	size_t most = *nfds;
	ssize_t n;

	*nfds = 0;
	do
		n = descriptor_receive(sock, &message, flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			*nfds = take_passed(c, fds, *nfds, most);
	return n;
}
