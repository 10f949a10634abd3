/* SPDX-License-Identifier: MIT */
/*
 * What runs in virtiofsd's place when a guest has taken virtiofsd over: in its cell, with QEMU at
 * the other end of its socket. A file in the directory that it serves, .hostile, says what it does:
 *
 * - silent: takes no connection, and stays
 * - closes: lets the socket go, and stays
 * - noise: answers everything with noise
 * - half: answers with half of a header, and ends
 * - long: answers with 4 GiB that never end
 * - lies: has every feature and queue that there is, and says yes to all
 * - ends: says so, and ends in the middle of the handshake
 * - floods: takes no connection, and writes on stderr without end
 * - leaves: leaves children and grandchildren behind that hear no signal, and ends
 */
#include <sys/socket.h>

#include <endian.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLY 5 /* version 1, and an answer */

struct message {
	uint32_t request, flags, size;
	unsigned char payload[4096];
};

static const char *what;

static int is(const char *name)
{
	return strcmp(what, name) == 0;
}

static _Noreturn void stay(void)
{
	for (;;)
		pause();
}

static int option(const char *argument, const char *name, const char **value)
{
	size_t len = strlen(name);

	*value = argument + len;
	return strncmp(argument, name, len) == 0;
}

/* Reads its own options: the socket with QEMU comes by --fd, the directory by -o. */
static int listener_and_wish(char **argv)
{
	static char wish[32];
	int listener = -1;

	for (; *argv; argv++) {
		const char *value;
		char path[4096];

		if (option(*argv, "--fd=", &value))
			listener = atoi(value);
		if (!option(*argv, "source=", &value))
			continue;
		snprintf(path, sizeof(path), "%s/.hostile", value);
		int fd = open(path, O_RDONLY);

		if (fd < 0 || read(fd, wish, sizeof(wish) - 1) <= 0)
			exit(2);
		close(fd);
	}
	what = wish;
	return listener;
}

static void all_of_it(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			exit(0);
		at += n;
		len -= (size_t)n;
	}
}

static void all_from(int fd, void *data, size_t len)
{
	if (len > 0 && recv(fd, data, len, MSG_WAITALL) != (ssize_t)len)
		exit(0);
}

static void ask_of(int fd, struct message *m)
{
	all_from(fd, m, 12);
	if (m->size > sizeof(m->payload))
		exit(0);
	all_from(fd, m->payload, m->size);
}

/* Returns whether the message needs an answer: it is a question, or it asks for an
 * acknowledgement. */
static int wants_answer(const struct message *m)
{
	static const uint32_t questions[] = {1, 11, 15, 17, 24, 31, 36};

	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		if (m->request == questions[i])
			return 1;
	return (m->flags & 8) != 0;
}

static void lie(int fd, struct message *m)
{
	/* Answers with every feature, with as many queues as a number can count, and with zero,
	 * which is a yes. */
	uint64_t word = m->request == 1 || m->request == 15 ? ~UINT64_C(0)
			: m->request == 17		    ? UINT32_MAX
							    : 0;

	m->flags = REPLY;
	if (m->request != 11 && m->request != 24) {
		m->size = 8;
		memcpy(m->payload, &word, sizeof(word));
	}
	all_of_it(fd, m, 12 + m->size);
}

static _Noreturn void serve(int fd)
{
	struct message m = {0};

	for (unsigned n = 0;; n++) {
		ask_of(fd, &m);
		if (is("ends") && n == 3) {
			fprintf(stderr, "no more \033[31mtoday\n");
			exit(3);
		}
		if (!wants_answer(&m))
			continue;
		if (is("noise"))
			memset(&m, 0xa5, sizeof(m));
		if (is("half")) {
			all_of_it(fd, &m, 6);
			exit(0);
		}
		if (is("long"))
			m.size = UINT32_MAX;
		if (is("lies") || is("ends"))
			lie(fd, &m);
		else
			do
				all_of_it(fd, &m, sizeof(m));
			while (is("long"));
	}
}

static void leave_children(void)
{
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			for (int number = 1; number < 65; number++)
				signal(number, SIG_IGN);
			setsid();
			if (fork() >= 0)
				stay();
		}
}

int main(int argc, char **argv)
{
	int listener;

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("virtiofsd version 7.2.0") < 0;
	listener = listener_and_wish(argv);
	if (is("leaves")) {
		leave_children();
		return 0;
	}
	if (is("floods"))
		for (;;)
			fprintf(stderr, "\033]0;owned\a\302\233 %0512d\n", 0);
	if (is("closes"))
		close(listener);
	if (is("closes") || is("silent"))
		stay();
	serve(accept(listener, NULL, NULL));
}
