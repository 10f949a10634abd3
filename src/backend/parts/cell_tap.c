/* SPDX-License-Identifier: MIT */
/*
 * Makes the tap in a child process, and gets two sockets from the child. The child enters the
 * cell's user namespace. There it has the right to make a tap in the cell's network namespace. If
 * this process is root, the child has this right already, and enters only the network namespace.
 *
 * The host's kernel must send nothing to the guest over the tap. So IPv6 is switched off in the
 * network namespace, and the tap has no address.
 */
#include "backend/parts/cell_tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/parts/cell.h"
#include "backend/parts/cell_proc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/linux/process_directory.h"

#define TUN "/dev/net/tun"
#define NO_IPV6 "/proc/sys/net/ipv6/conf/default/disable_ipv6"
/* The size of the socket's receive buffer in bytes. A segment of 64 KiB needs twice its size. The
 * kernel gives at most as much as the administrator of the host allows. */
#define PACKET_BYTES (4 << 20)
/* The number of frames that may wait for the guest, which is enough for a window of TCP. With a
 * shorter queue, frames would be lost. */
#define QUEUE_FRAMES 8192
/* The MTU of passt in bytes. passt sends packets without regard to the guest's MTU, and the tap
 * must pass all of them. */
#define LINK_MTU 65520

enum step {
	STEP_USERS,
	STEP_NETWORK,
	STEP_TUN,
	STEP_TAP,
	STEP_UP,
	STEP_PACKET,
	STEP_DONE,
};
static const char *const step_text[] = {
	[STEP_USERS] = "the cell's user namespace",
	[STEP_NETWORK] = "the cell's network namespace",
	[STEP_TUN] = TUN,
	[STEP_TAP] = "make a tap in the cell",
	[STEP_UP] = "bring up the tap in the cell",
	[STEP_PACKET] = "open a packet socket in the cell",
};

struct tap_report {
	enum step step;
	int errnum;
};

/* Returns what the administrator should do about a failed open of TUN. Usually the kernel and udev
 * let all users open the device, so that a user may make a tap in the user's own namespace. */
static const char *tun_advice(int errnum)
{
	return errnum == EACCES || errnum == EPERM ? "as root, run chmod 0666 " TUN
						   : "as root, run modprobe tun";
}

int cell_tap_check(struct error *err)
{
	autoclose int fd = open(TUN, O_RDWR | O_CLOEXEC);
	int errnum = errno;

	return fd >= 0 ? 0
		       : error_set(
				 err, ERR_UNAVAILABLE,
				 "config.network.mode: a network card needs /dev/net/tun on this host: %s (%s)",
				 strerror(errnum), tun_advice(errnum));
}

static int enter_networks(int net, struct tap_report *r)
{
	r->step = STEP_USERS;
	if (cell_enter_owner(net) < 0)
		return -1;
	r->step = STEP_NETWORK;
	return setns(net, CLONE_NEWNET);
}

/* Switches off IPv6 in the network namespace. A kernel without IPv6 does not have the file. */
static void silence_ipv6(void)
{
	autoclose int fd = open(NO_IPV6, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "1", 1);
}

static int make_tap(const char *name, uid_t owner, struct tap_report *r)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};

	r->step = STEP_TUN;
	autoclose int fd = open(TUN, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	r->step = STEP_TAP;
	snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
	if (ioctl(fd, TUNSETIFF, &request) < 0 || ioctl(fd, TUNSETOWNER, (unsigned long)owner) < 0)
		return -1;
	return ioctl(fd, TUNSETPERSIST, 1UL);
}

static int raise_tap(int control, const char *name, struct tap_report *r)
{
	struct ifreq request = {.ifr_mtu = LINK_MTU};

	r->step = STEP_UP;
	snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
	if (ioctl(control, SIOCSIFMTU, &request) < 0)
		return -1;
	request.ifr_qlen = QUEUE_FRAMES;
	if (ioctl(control, SIOCSIFTXQLEN, &request) < 0)
		return -1;
	request.ifr_flags = IFF_UP | IFF_NOARP;
	return ioctl(control, SIOCSIFFLAGS, &request);
}

static int open_packets(const char *name, struct tap_report *r)
{
	autoclose int fd =
		socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL));
	struct sockaddr_ll link = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int on = 1, bytes = PACKET_BYTES;

	r->step = STEP_PACKET;
	link.sll_ifindex = (int)if_nametoindex(name);
	if (fd < 0 || link.sll_ifindex == 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	/* The frames bypass the queueing discipline. A tap has a carrier from the moment when the
	 * VMM opens it. The queueing discipline learns this up to a second later
	 * (net/core/link_watch.c), and would drop all frames until then. */
	if (setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&link, sizeof(link)) < 0)
		return -1;
	return steal_fd(&fd);
}

static void make_in_child(int report, int net, const char *name, uid_t owner)
	__attribute__((noreturn));
static void make_in_child(int report, int net, const char *name, uid_t owner)
{
	struct tap_report r = {0};
	int fds[2] = {-1, -1};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (enter_networks(net, &r) == 0) {
		silence_ipv6();
		if (make_tap(name, owner, &r) == 0) {
			r.step = STEP_UP;
			fds[1] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
			if (fds[1] >= 0 && raise_tap(fds[1], name, &r) == 0)
				fds[0] = open_packets(name, &r);
		}
	}
	r.errnum = fds[0] < 0 ? errno : 0;
	if (fds[0] >= 0)
		r.step = STEP_DONE;
	(void)fd_send_passing(report, &r, sizeof(r), fds, fds[0] < 0 ? 0 : 2, MSG_NOSIGNAL);
	_exit(0);
}

static int hear_tap(int heard, struct cell_tap *out, struct error *err)
{
	struct tap_report r = {0};
	int fds[FD_PASS_MAX];
	size_t nfds = FD_PASS_MAX;

	if (fd_wait(heard, POLLIN, limit_deadline(LIMIT_CELL_MS), err) < 0)
		return -1;
	ssize_t n = fd_receive_passed(heard, &r, sizeof(r), fds, &nfds, MSG_DONTWAIT);
	if (n == sizeof(r) && r.step == STEP_DONE && nfds == 2) {
		*out = (struct cell_tap){.packet_fd = fds[0], .control_fd = fds[1]};
		return 0;
	}
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	if (n != sizeof(r) || (unsigned)r.step >= STEP_DONE)
		return error_set(
			err, ERR_IO,
			"the machine's network card was not made, because the process that makes it died: try again, and report a bug if it happens again");
	return error_errno(err, r.errnum, "network: %s", step_text[r.step]);
}

int cell_tap_make(const struct proc *program, const char *name, struct cell_tap *out,
		  struct error *err)
{
	uid_t id = cell_id(), owner = id ? id : geteuid();
	int ends[2];
	pid_t pid;
	autoclose int own = process_directory(program->pid, program->pidfd, err);

	if (own < 0)
		return error_prefix(err, "network: the cell");
	autoclose int net = openat(own, "ns/net", O_RDONLY | O_CLOEXEC);
	if (net < 0)
		return error_errno(err, errno, "network: the cell");
	if (fd_socketpair(ends, err) < 0)
		return -1;
	autoclose int heard = ends[0];
	autoclose int report = ends[1];
	pid = fork();
	if (pid == 0)
		make_in_child(report, net, name, owner);
	if (pid < 0)
		return error_errno(err, errno, "fork");
	int rc = hear_tap(heard, out, err);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return rc;
}
