/* SPDX-License-Identifier: MIT */
#include "guest/init/uevent.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define GROUP_KERNEL 1

int uevent_open(struct error *err)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK, .nl_groups = GROUP_KERNEL};
	autoclose int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				  NETLINK_KOBJECT_UEVENT);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return error_errno(err, errno, "cannot listen for devices");
	return steal_fd(&fd);
}

int uevent_wait(int fd, uint64_t deadline_ns, struct error *err)
{
	char event[4096];

	if (fd_wait(fd, POLLIN, deadline_ns, err) < 0)
		return -1;
	/* Drops all queued events, since after one event the caller looks for the device again. */
	while (recv(fd, event, sizeof(event), 0) > 0 || errno == ENOBUFS)
		;
	return 0;
}
