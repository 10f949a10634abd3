/* SPDX-License-Identifier: MIT */
#include "backend/parts/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TUN "/dev/net/tun"

/* Checks that this host has the bridge. Uses system calls for this, since /sys may show another
 * network namespace. */
static int check_bridge(const char *bridge, struct error *err)
{
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq request = {0};

	if (strlen(bridge) >= IFNAMSIZ)
		return error_set(
			err, ERR_INVALID,
			"config.network.interface: \"%.64s\" cannot be the name of an interface: give the name of a bridge of this host",
			bridge);
	memcpy(request.ifr_name, bridge, strlen(bridge));
	if (fd < 0)
		return error_errno(err, errno, "config.network.interface");
	if (ioctl(fd, SIOCGIFINDEX, &request) < 0)
		return error_set(
			err, ERR_NOT_FOUND,
			"config.network.interface: this host has no interface %s: give the name of a bridge of this host",
			bridge);
	request.ifr_data = (void *)&driver;
	if (ioctl(fd, SIOCETHTOOL, &request) < 0 || strcmp(driver.driver, "bridge") != 0)
		return error_set(
			err, ERR_INVALID,
			"config.network.interface: the interface %s is not a bridge: give the name of a bridge of this host",
			bridge);
	return 0;
}

static int check_right(struct error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (syscall(SYS_capget, &header, data) == 0 &&
	    data[CAP_TO_INDEX(CAP_NET_ADMIN)].effective & CAP_TO_MASK(CAP_NET_ADMIN))
		return 0;
	return error_set(
		err, ERR_DENIED,
		"config.network.mode: bridged needs the right to make an interface: run microagent as root or with CAP_NET_ADMIN, or choose another mode");
}

int tap_check(const char *bridge, struct error *err)
{
	if (bridge && check_bridge(bridge, err) < 0)
		return -1;
	if (check_right(err) < 0)
		return -1;
	autoclose int fd = open(TUN, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return error_set(
			err, ERR_UNAVAILABLE,
			"config.network.mode: bridged needs /dev/net/tun: %s (as root, run modprobe tun)",
			strerror(errno));
	return 0;
}

static int add_to_bridge(int socket_fd, const char *bridge, const char *name, struct error *err)
{
	struct ifreq request = {0};

	memcpy(request.ifr_name, name, IFNAMSIZ);
	if (ioctl(socket_fd, SIOCGIFINDEX, &request) < 0)
		return error_errno(err, errno, "tap interface %s", name);
	int index = request.ifr_ifindex;
	memset(&request, 0, sizeof(request));
	snprintf(request.ifr_name, IFNAMSIZ, "%s", bridge);
	request.ifr_ifindex = index;
	if (ioctl(socket_fd, SIOCBRADDIF, &request) < 0)
		return error_errno(err, errno, "tap interface %s onto the bridge %s", name, bridge);
	memset(&request, 0, sizeof(request));
	memcpy(request.ifr_name, name, IFNAMSIZ);
	if (ioctl(socket_fd, SIOCGIFFLAGS, &request) < 0)
		return error_errno(err, errno, "tap interface %s", name);
	request.ifr_flags |= IFF_UP;
	if (ioctl(socket_fd, SIOCSIFFLAGS, &request) < 0)
		return error_errno(err, errno, "tap interface %s", name);
	return 0;
}

int tap_open(const char *bridge, struct error *err)
{
	autoclose int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	autoclose int fd = -1;
	struct ifreq request = {.ifr_name = "microagent%d"};

	if (tap_check(bridge, err) < 0)
		return -1;
	fd = open(TUN, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || socket_fd < 0)
		return error_errno(err, errno, TUN);
	request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
	if (ioctl(fd, TUNSETIFF, &request) < 0)
		return error_errno(err, errno, "tap interface");
	if (add_to_bridge(socket_fd, bridge, request.ifr_name, err) < 0)
		return -1;
	return steal_fd(&fd);
}

bool tap_take_down(int fd, int control)
{
	autoclose int own = control < 0 ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	int socket_fd = control < 0 ? own : control;
	struct ifreq request = {0};

	if (socket_fd < 0 || ioctl(fd, TUNGETIFF, &request) < 0 ||
	    ioctl(socket_fd, SIOCGIFFLAGS, &request) < 0)
		return false;
	if (!(request.ifr_flags & IFF_UP))
		return true;
	request.ifr_flags &= ~IFF_UP;
	return ioctl(socket_fd, SIOCSIFFLAGS, &request) == 0;
}
