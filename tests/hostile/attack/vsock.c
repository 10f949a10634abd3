/* SPDX-License-Identifier: MIT */
/* Dials addresses of the host. */
#include <sys/socket.h>

#include <linux/vm_sockets.h>

#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#include "attack.h"

static int dial(int type, unsigned cid, unsigned port)
{
	struct sockaddr_vm at = {.svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = port};
	struct timeval most = {.tv_sec = 2};
	int fd = socket(AF_VSOCK, type, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &most, sizeof(most));
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Only an address of the host counts as reached, since the guest may talk to itself. */
void dial_all(const char *seed, unsigned long count)
{
	static const unsigned cids[] = {0, 2, 4, 1000, 0x7fffffff, 0xfffffffe};
	unsigned long tried = 0, reached = 0;

	noise_seed(seed);
	for (unsigned long i = 0; i < count; i++) {
		unsigned port = i < 3000 ? (unsigned)i : (unsigned)noise();

		for (size_t k = 0; k < sizeof(cids) / sizeof(*cids); k++) {
			/* An address that nobody has costs the whole timeout. */
			if (cids[k] != 2 && i > 0)
				continue;
			int fd = dial(SOCK_STREAM, cids[k], port);

			tried++;
			if (fd >= 0) {
				reached++;
				printf("reached cid %u port %u\n", cids[k], port);
				close(fd);
			}
		}
	}
	for (unsigned port = 0; port < 100; port++) {
		int fd = dial(SOCK_SEQPACKET, 2, port);

		reached += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	said("dialled", tried);
	said("reached", reached);
}

void storm(unsigned long count)
{
	unsigned long refused = 0;

	for (unsigned long i = 0; i < count; i++) {
		int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 0);
		struct sockaddr_vm at = {
			.svm_family = AF_VSOCK, .svm_cid = 2, .svm_port = CLOSED_PORT};

		/* Half of the connections are given up before the answer has come. */
		if (fd >= 0) {
			connect(fd, (struct sockaddr *)&at, sizeof(at));
			close(fd);
		}
		fd = dial(SOCK_STREAM, 2, CLOSED_PORT);
		refused += fd < 0;
		if (fd >= 0)
			close(fd);
	}
	said("refused", refused);
}
