/* SPDX-License-Identifier: MIT */
/* Sends bytes by UDP or TCP from a port that the attacker chooses, and prints the answer. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "attack.h"

static size_t bytes_of(const char *hex, unsigned char *out, size_t room)
{
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len && i < room; i++) {
		const char digits[] = {hex[2 * i], hex[2 * i + 1], '\0'};

		out[i] = (unsigned char)strtoul(digits, NULL, 16);
	}
	return len < room ? len : room;
}

/* Reads the answer. For UDP it is the first datagram of any sender, and for TCP all bytes until the
 * end. */
static size_t hear(int fd, bool datagrams, unsigned char *bytes, size_t room)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = recv(fd, bytes + len, room - len, 0);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < room && !datagrams);
	return len;
}

void say(bool datagrams, const char *from, const char *to, const char *port, const char *hex)
{
	const struct timeval patience = {.tv_sec = 20};
	struct sockaddr_in ours = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(from))},
			   theirs = {.sin_family = AF_INET,
				     .sin_port = htons((uint16_t)atoi(port))};
	int fd = socket(AF_INET, datagrams ? SOCK_DGRAM : SOCK_STREAM, 0), yes = 1;
	unsigned char bytes[2048];
	size_t len = bytes_of(hex, bytes, sizeof(bytes));

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    bind(fd, (struct sockaddr *)&ours, sizeof(ours)) < 0 ||
	    inet_pton(AF_INET, to, &theirs.sin_addr) != 1 ||
	    (!datagrams && connect(fd, (struct sockaddr *)&theirs, sizeof(theirs)) < 0) ||
	    sendto(fd, bytes, len, 0, datagrams ? (struct sockaddr *)&theirs : NULL,
		   datagrams ? sizeof(theirs) : 0) < 0)
		give_up("say");
	len = hear(fd, datagrams, bytes, sizeof(bytes));
	for (size_t i = 0; i < len; i++)
		printf("%02x", bytes[i]);
	putchar('\n');
	said("answers", len > 0);
}
