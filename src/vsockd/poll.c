/* SPDX-License-Identifier: MIT */
#include "vsockd/poll.h"

#include <stddef.h>
#include <sys/epoll.h>

int poll_add(int epfd, int fd, uint32_t events, union poll_ref ref)
{
	struct epoll_event e = {.events = events, .data.u64 = ref.all};

	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &e);
}

int poll_change(int epfd, int fd, uint32_t events, union poll_ref ref)
{
	struct epoll_event e = {.events = events, .data.u64 = ref.all};

	return epoll_ctl(epfd, EPOLL_CTL_MOD, fd, &e);
}

void poll_remove(int epfd, int fd)
{
	epoll_ctl(epfd, EPOLL_CTL_DEL, fd, NULL);
}
