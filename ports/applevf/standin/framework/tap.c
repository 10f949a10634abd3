/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int join_bridge(const char *bridge, const char *tap)
{
	struct ifreq request = {.ifr_ifindex = (int)if_nametoindex(tap)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	snprintf(request.ifr_name, IFNAMSIZ, "%s", bridge);
	int status = ioctl(fd, SIOCBRADDIF, &request);
	if (status == 0) {
		struct ifreq up = {.ifr_flags = IFF_UP};

		snprintf(up.ifr_name, IFNAMSIZ, "%s", tap);
		status = ioctl(fd, SIOCSIFFLAGS, &up);
	}
	int error = errno;
	close(fd);
	errno = error;
	return status;
}

int tap_open(const char *bridge)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR,
				.ifr_name = "vzs%d"};
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -1;
	if (ioctl(fd, TUNSETIFF, &request) == 0 && join_bridge(bridge, request.ifr_name) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}
