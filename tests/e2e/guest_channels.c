/* SPDX-License-Identifier: MIT */
/*
 * The guest's side of the channel tests.
 *
 *   guest_channels dial PORT          stdin and stdout over vsock to the host's port, each end
 *                                     handed on; exit code 3 when the connection is refused
 *   guest_channels serve ADDRESS PORT serves TCP connections for ever; the first byte says how:
 *       e  echo, until the client's end      d  "<bytes> <crc-32>\n" at the client's end
 *       s  "<8 digits>": so many MiB, then the end   h  holds still   r  answers "no" and closes
 *       w  as d, but reads nothing before there is a file /tmp/go, and says it on stdout too, for a
 *          client that has gone
 *   guest_channels idle ADDRESS PORT... listens at each of the ports and never accepts
 */
#include <sys/socket.h>

#include <linux/vm_sockets.h>

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned char chunk[65536];

static int write_all(int fd, const unsigned char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n <= 0)
			return -1;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Moves what is there from one to the other. 0 at the end. */
static ssize_t move(int from, int to)
{
	ssize_t n = read(from, chunk, sizeof(chunk));

	return n > 0 && write_all(to, chunk, (size_t)n) < 0 ? -1 : n;
}

static int dial(unsigned port)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = port};
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	struct pollfd polled[2] = {{STDIN_FILENO, POLLIN, 0}, {fd, POLLIN, 0}};

	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		perror("vsock");
		return 3;
	}
	for (;;) {
		if (poll(polled, 2, -1) < 0)
			return 1;
		if (polled[0].revents && move(STDIN_FILENO, fd) <= 0) {
			shutdown(fd, SHUT_WR);
			polled[0].fd = -1;
		}
		if (polled[1].revents && move(fd, STDOUT_FILENO) <= 0)
			return 0;
	}
}

static void digest(int fd, int loud)
{
	uint32_t crc = UINT32_MAX;
	uint64_t bytes = 0;
	char text[64];
	ssize_t n;
	int k;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			for (crc ^= chunk[i], k = 0; k < 8; k++)
				crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
		bytes += (uint64_t)n;
	}
	n = snprintf(text, sizeof(text), "%llu %08x\n", (unsigned long long)bytes, ~crc);
	write_all(fd, (unsigned char *)text, (size_t)n);
	if (loud)
		write_all(STDOUT_FILENO, (unsigned char *)text, (size_t)n);
}

/* MiB k holds the byte k alone. */
static void source(int fd)
{
	char digits[9] = "";

	if (read(fd, digits, 8) != 8)
		return;
	for (int i = 0, mib = atoi(digits); i < mib; i++) {
		memset(chunk, i, sizeof(chunk));
		for (int k = 0; k < 16; k++)
			if (write_all(fd, chunk, sizeof(chunk)) < 0)
				return;
	}
}

static void serve_one(int fd)
{
	char how;

	if (read(fd, &how, 1) != 1)
		return;
	switch (how) {
	case 'e':
		while (move(fd, fd) > 0)
			;
		break;
	case 'd':
		digest(fd, 0);
		break;
	case 'w':
		while (access("/tmp/go", F_OK) < 0)
			usleep(10000);
		digest(fd, 1);
		break;
	case 's':
		source(fd);
		break;
	case 'h':
		pause();
		break;
	case 'r':
		write_all(fd, (const unsigned char *)"no", 2);
		break;
	}
}

/* Returns a listener, or -1 after a message. */
static int listen_at(const char *address, unsigned short port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int is_v4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1, on = 1;
	int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM, 0);

	inet_pton(AF_INET6, address, &v6.sin6_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if ((is_v4 ? bind(fd, (struct sockaddr *)&v4, sizeof(v4))
		   : bind(fd, (struct sockaddr *)&v6, sizeof(v6))) < 0 ||
	    listen(fd, 512) < 0) {
		perror(address);
		return -1;
	}
	return fd;
}

static void say_listening(void)
{
	printf("listening\n");
	fflush(stdout);
}

static int idle(const char *address, char *const *ports)
{
	for (; *ports; ports++)
		if (listen_at(address, (unsigned short)atoi(*ports)) < 0)
			return 1;
	say_listening();
	for (;;)
		pause();
}

static int serve(const char *address, unsigned short port)
{
	int fd = listen_at(address, port);

	if (fd < 0)
		return 1;
	say_listening();
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int peer = accept(fd, NULL, NULL);

		if (peer >= 0 && fork() == 0) {
			serve_one(peer);
			_exit(0);
		}
		close(peer);
	}
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && strcmp(argv[1], "dial") == 0)
		return dial((unsigned)strtoul(argv[2], NULL, 10));
	if (argc == 4 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2], (unsigned short)atoi(argv[3]));
	if (argc >= 4 && strcmp(argv[1], "idle") == 0)
		return idle(argv[2], argv + 3);
	return 2;
}
