/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keeper.h"
#include "vsockd/core.h"

/* Serves the vsock device in this process, until QEMU closes it. The code is in
 * tests/standin/firecracker/vsock.c. */
int standin_vsock(int vhost_fd, int listen_fd, unsigned guest_cid, const struct host_port *ports,
		  unsigned nports);

enum { GUEST_CID = 3, FD_FIRST = 3, FD_LAST = 1 << 16 };

static void give_up(const char *what)
{
	fprintf(stderr, "vz-keeper: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- children -------------------------------------------------------------------------------- */

static void keep_only(const int *fds, int count)
{
	for (int fd = FD_FIRST; fd < FD_LAST; fd++) {
		int next = FD_LAST;

		for (int i = 0; i < count; i++)
			if (fds[i] >= fd && fds[i] < next)
				next = fds[i];
		if (next > fd)
			close_range((unsigned)fd, (unsigned)next - 1, 0);
		if (next < FD_LAST)
			fcntl(next, F_SETFD, 0);
		fd = next;
	}
}

pid_t keeper_fork(const int *fds, int count)
{
	pid_t us = getpid(), pid = fork();

	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != us)
		_exit(1);
	keep_only(fds, count);
	return 0;
}

/* Serves the vsock device in this process. The paths in the table of ports contain numbers of file
 * descriptors of this process, so these file descriptors stay open. */
static void serve_vsock(const struct vsock_ends *ends)
{
	struct stat about;

	if (fstat(ends->table, &about) < 0)
		_exit(1);
	const struct host_port *ports =
		mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, ends->table, 0);
	if (ports == MAP_FAILED)
		_exit(1);
	unsigned count = (unsigned)((size_t)about.st_size / sizeof(*ports));
	_exit(standin_vsock(ends->vhost, ends->listen, GUEST_CID, ports, count) < 0 ? 1 : 0);
}

static pid_t start_vsock(const struct keeper *k)
{
	pid_t us = getpid(), pid = k->vsock.vhost < 0 ? -1 : fork();

	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != us)
		_exit(1);
	for (int i = 0; i < k->qemu_fd_count; i++)
		close(k->qemu_fds[i]);
	const int others[] = {k->lifeline, k->serial.qemu, k->serial.in, k->serial.out};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		close(others[i]);
	serve_vsock(&k->vsock);
	return -1;
}

static void start_shares(const struct keeper *k)
{
	for (int i = 0; i < k->share_count; i++) {
		const int fds[] = {k->shares[i].control, k->shares[i].listen};
		pid_t pid = keeper_fork(fds, 2);

		if (pid == 0)
			share_serve(&k->shares[i], k->virtiofsd);
		if (pid < 0)
			give_up("fork");
		close(k->shares[i].control);
		close(k->shares[i].listen);
	}
}

static pid_t start_qemu(const struct keeper *k)
{
	pid_t pid = keeper_fork(k->qemu_fds, k->qemu_fd_count);

	if (pid < 0)
		give_up("fork");
	if (pid == 0) {
		execvp(k->qemu[0], k->qemu);
		give_up(k->qemu[0]);
	}
	for (int i = 0; i < k->qemu_fd_count; i++)
		close(k->qemu_fds[i]);
	return pid;
}

/* --- the loop -------------------------------------------------------------------------------- */

enum {
	WAIT_LIFELINE,
	WAIT_HOLDER,
	WAIT_QEMU,
	WAIT_IN,
	WAIT_OUT,
	WAIT_TO_GUEST,
	WAIT_TO_CLIENT,
	WAITS
};

static struct pollfd wait_for(int fd, short events)
{
	return (struct pollfd){.fd = events ? fd : -1, .events = events};
}

/* Receives the file descriptors of a further share, and starts the share's process. Returns false
 * if the framework has closed the lifeline, because it no longer needs the machine. */
static bool take_message(struct keeper *k)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))];
	char letter;
	struct iovec text = {&letter, 1};
	struct msghdr message = {.msg_iov = &text,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof(room)};

	if (recvmsg(k->lifeline, &message, MSG_CMSG_CLOEXEC) <= 0)
		return false;
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (!head || head->cmsg_len != CMSG_LEN(2 * sizeof(int)))
		return false;
	memcpy(&k->shares[0], CMSG_DATA(head), 2 * sizeof(int));
	k->share_count = 1;
	start_shares(k);
	return true;
}

/* Copies the bytes of the serial port. Returns true when QEMU has exited. Returns false when the
 * client has closed the lifeline or has exited. */
static bool run_machine(struct keeper *k, int qemu, struct pump *to_guest, struct pump *to_client)
{
	for (;;) {
		struct pollfd fds[WAITS] = {
			[WAIT_LIFELINE] = wait_for(k->lifeline, POLLIN),
			[WAIT_HOLDER] = wait_for(k->holder, POLLIN),
			[WAIT_QEMU] = wait_for(qemu, POLLIN),
			[WAIT_IN] = wait_for(to_guest->from, pump_wants_in(to_guest)),
			[WAIT_OUT] = wait_for(to_client->from, pump_wants_in(to_client)),
			[WAIT_TO_GUEST] = wait_for(to_guest->to, pump_wants_out(to_guest)),
			[WAIT_TO_CLIENT] = wait_for(to_client->to, pump_wants_out(to_client)),
		};

		if (poll(fds, WAITS, -1) < 0 && errno != EINTR)
			give_up("poll");
		if (fds[WAIT_HOLDER].revents || (fds[WAIT_LIFELINE].revents && !take_message(k)))
			return false;
		if (fds[WAIT_TO_GUEST].revents)
			pump_out(to_guest);
		if (fds[WAIT_TO_CLIENT].revents)
			pump_out(to_client);
		if (fds[WAIT_IN].revents)
			pump_in(to_guest);
		if (fds[WAIT_OUT].revents)
			pump_in(to_client);
		/* Returns only when the guest's last output was delivered, even if QEMU has already
		 * exited. */
		if (fds[WAIT_QEMU].revents && !fds[WAIT_OUT].revents && to_client->length == 0)
			return true;
	}
}

static void keep_machine(struct keeper *k)
{
	struct pump to_guest = {.from = k->serial.in, .to = k->serial.qemu};
	struct pump to_client = {.from = k->serial.qemu, .to = k->serial.out};

	start_shares(k);
	pid_t vsock = start_vsock(k);
	if (vsock > 0) {
		close(k->vsock.vhost);
		close(k->vsock.listen);
	}
	pid_t pid = start_qemu(k);
	int qemu = (int)syscall(SYS_pidfd_open, pid, 0);
	if (qemu < 0)
		give_up("pidfd_open");
	bool ended = run_machine(k, qemu, &to_guest, &to_client);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* The process of the vsock device exits when it has delivered all bytes that the guest has
	 * sent. */
	if (ended && vsock > 0)
		waitpid(vsock, NULL, 0);
}

/* --- words ----------------------------------------------------------------------------------- */

static const struct option options[] = {
	{"lifeline", required_argument, NULL, 'l'},  {"holder", required_argument, NULL, 'h'},
	{"serial", required_argument, NULL, 's'},    {"vsock", required_argument, NULL, 'v'},
	{"share", required_argument, NULL, 'd'},     {"qemu-fd", required_argument, NULL, 'q'},
	{"virtiofsd", required_argument, NULL, 'f'}, {0},
};

static bool take_option(struct keeper *k, int letter, const char *value)
{
	struct share_ends *share = &k->shares[k->share_count];

	switch (letter) {
	case 'l':
		return sscanf(value, "%d", &k->lifeline) == 1;
	case 'h':
		return sscanf(value, "%d", &k->holder) == 1;
	case 's':
		return sscanf(value, "%d,%d,%d", &k->serial.qemu, &k->serial.in, &k->serial.out) ==
		       3;
	case 'v':
		return sscanf(value, "%d,%d,%d", &k->vsock.vhost, &k->vsock.listen,
			      &k->vsock.table) == 3;
	case 'd':
		return k->share_count++ < SHARES_MAX &&
		       sscanf(value, "%d,%d", &share->control, &share->listen) == 2;
	case 'q':
		return k->qemu_fd_count < QEMU_FDS_MAX &&
		       sscanf(value, "%d", &k->qemu_fds[k->qemu_fd_count++]) == 1;
	case 'f':
		k->virtiofsd = value;
		return true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct keeper k = {
		.lifeline = -1, .holder = -1, .serial = {-1, -1, -1}, .vsock = {-1, -1, -1}};
	int letter;

	while ((letter = getopt_long(argc, argv, "", options, NULL)) >= 0)
		if (!take_option(&k, letter, optarg))
			return 2;
	if (k.lifeline < 0 || k.holder < 0 || !argv[optind])
		return 2;
	k.qemu = argv + optind;
	signal(SIGPIPE, SIG_IGN);
	/* This program continues in a child, and the parent exits. So the program is not a child of
	 * the client. Otherwise a client that waits for all its children would wait for this
	 * program. */
	pid_t pid = fork();
	if (pid)
		return pid < 0;
	setsid();
	keep_machine(&k);
	return 0;
}
