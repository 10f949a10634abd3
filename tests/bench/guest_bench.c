/* SPDX-License-Identifier: MIT */
/*
 * The guest side of the benchmarks and of the vsock device's own tests, run as /init of a bare
 * QEMU: says BENCH-INIT on the console with its first write, then echoes bytes on vsock port 7000
 * and on the virtio-serial port named "echo", swallows what comes to vsock port 7001 (answering one
 * byte at the end), and sends as many MiB as an 8-byte request on port 7002 asks for; and the same
 * by TCP on the network of QEMU's user mode, if there is a card. As an ordinary program,
 * `guest_bench tcp` serves by TCP alone, `guest_bench vsock` by vsock alone, and `guest_bench
 * PROGRAM` prints the median nanoseconds of fork, exec and wait of PROGRAM.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/module.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ECHO = 7000, SINK = 7001, SOURCE = 7002, HOLD = 7003 };
static uint8_t block[256 * 1024];

static void write_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;
	while (len) {
		ssize_t n = write(fd, p, len);
		if (n <= 0)
			return;
		p += n;
		len -= (size_t)n;
	}
}

static void echo(int fd)
{
	ssize_t n;
	while ((n = read(fd, block, 4096)) > 0)
		write_all(fd, block, (size_t)n);
}

static void sink(int fd)
{
	while (read(fd, block, sizeof(block)) > 0)
		;
	write_all(fd, "k", 1);
}

static void source(int fd)
{
	uint64_t mebibytes = 0;
	if (read(fd, &mebibytes, sizeof(mebibytes)) != sizeof(mebibytes))
		return;
	for (uint64_t i = 0; i < mebibytes * 4; i++)
		write_all(fd, block, sizeof(block));
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the median over 100 rounds of starting the program and waiting for its end. */
static uint64_t fork_exec_wait(char *program)
{
	enum { ROUNDS = 100 };
	uint64_t took[ROUNDS];
	char *const argv[] = {program, NULL};
	char *const envp[] = {NULL};
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t began = now();
		pid_t pid;
		if (posix_spawn(&pid, program, NULL, NULL, argv, envp) == 0)
			waitpid(pid, NULL, 0);
		took[i] = now() - began;
	}
	qsort(took, ROUNDS, sizeof(took[0]), by_size);
	return took[ROUNDS / 2];
}

/* Loads the modules that the kernel needs if it has them as files, as a K.modules segment lists
 * them. */
static void load_modules(void)
{
	char line[256];
	FILE *list = fopen("/modules.list", "r");
	while (list && fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		int fd = open(line, O_RDONLY);
		int flags = strstr(line, ".ko.") ? MODULE_INIT_COMPRESSED_FILE : 0;
		if (fd >= 0 && syscall(SYS_finit_module, fd, "", flags) != 0)
			perror(line);
		close(fd);
	}
}

static int listen_on(uint32_t port)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_port = port, .svm_cid = VMADDR_CID_ANY};
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 1024))
		exit(1);
	return fd;
}

static int listen_tcp(uint32_t port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 16))
		exit(1);
	return fd;
}

/* Takes the address that QEMU's user network forwards to. Returns false without a card. */
static int raise_network(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = inet_addr("10.0.2.15")};
	struct sockaddr_in mask = {.sin_family = AF_INET,
				   .sin_addr.s_addr = inet_addr("255.255.255.0")};
	struct ifreq request = {.ifr_name = "eth0"};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	memcpy(&request.ifr_addr, &addr, sizeof(addr));
	if (fd < 0 || ioctl(fd, SIOCSIFADDR, &request))
		return 0;
	memcpy(&request.ifr_netmask, &mask, sizeof(mask));
	ioctl(fd, SIOCSIFNETMASK, &request);
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	ioctl(fd, SIOCSIFFLAGS, &request);
	close(fd);
	return 1;
}

/* Serves in a child. fd listens before the child exists, since BENCH-READY must be true. */
static void serve(int fd, void (*fn)(int))
{
	if (fork() != 0) {
		close(fd);
		return;
	}
	for (;;) {
		int client = accept(fd, NULL, NULL);
		/* A newer kernel (6.12) fails a connection here that the host has reset. */
		if (client < 0 && (errno == ECONNRESET || errno == ECONNABORTED))
			continue;
		if (client < 0)
			exit(1);
		fn(client);
		shutdown(client, SHUT_WR);
		close(client);
	}
}

/* Echoes on every connection at once. */
static void hold(void)
{
	int fd = listen_on(HOLD);
	if (fork() != 0) {
		close(fd);
		return;
	}
	static struct pollfd watched[2048];
	nfds_t count = 1;
	watched[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	while (poll(watched, count, -1) > 0) {
		for (nfds_t i = count - 1; i > 0; i--) {
			if (!watched[i].revents)
				continue;
			ssize_t n = read(watched[i].fd, block, 4096);
			if (n > 0) {
				write_all(watched[i].fd, block, (size_t)n);
				continue;
			}
			close(watched[i].fd);
			watched[i] = watched[--count];
		}
		if (watched[0].revents && count < 2048)
			watched[count++] = (struct pollfd){.fd = accept(watched[0].fd, NULL, NULL),
							   .events = POLLIN};
	}
	exit(1);
}

static void serial_echo(void)
{
	for (int i = 0; i < 4; i++) {
		char path[64], name[32] = "";
		snprintf(path, sizeof(path), "/sys/class/virtio-ports/vport%dp1/name", i);
		int fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		ssize_t n = read(fd, name, sizeof(name) - 1);
		close(fd);
		if (n <= 0 || strncmp(name, "echo", 4) != 0)
			continue;
		snprintf(path, sizeof(path), "/dev/vport%dp1", i);
		fd = open(path, O_RDWR);
		if (fd >= 0 && fork() == 0)
			for (;;)
				echo(fd);
	}
}

static void serve_all(int (*listener)(uint32_t port))
{
	serve(listener(ECHO), echo);
	serve(listener(SINK), sink);
	serve(listener(SOURCE), source);
}

int main(int argc, char **argv)
{
	if (argc == 2 && getpid() != 1 &&
	    (strcmp(argv[1], "tcp") == 0 || strcmp(argv[1], "vsock") == 0)) {
		serve_all(argv[1][0] == 't' ? listen_tcp : listen_on);
		write_all(1, "BENCH-READY\n", 12);
		for (;;)
			pause();
	}
	if (argc == 2 && getpid() != 1)
		return printf("%llu\n", (unsigned long long)fork_exec_wait(argv[1])) < 0;
	/* A write to a connection that the host has reset must not end the server of its port. */
	signal(SIGPIPE, SIG_IGN);
	write_all(1, "BENCH-INIT\n", 11);
	load_modules();
	mkdir("/dev", 0755);
	mkdir("/sys", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	serve_all(listen_on);
	if (raise_network())
		serve_all(listen_tcp);
	hold();
	serial_echo();
	write_all(1, "BENCH-READY\n", 12);
	for (;;)
		pause();
}
