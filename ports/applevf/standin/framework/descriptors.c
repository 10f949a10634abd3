/* SPDX-License-Identifier: MIT */
#include "descriptors.h"

#include <string.h>
#include <sys/socket.h>

enum { COUNT_MAX = 4 };

bool descriptors_send(int fd, const void *bytes, size_t length, const int *fds, int count)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(COUNT_MAX * sizeof(int))] = {0};
	struct iovec text = {(void *)(size_t)bytes, length};
	struct msghdr message = {.msg_iov = &text,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
	memcpy(CMSG_DATA(head), fds, (size_t)count * sizeof(int));
	return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)length;
}
