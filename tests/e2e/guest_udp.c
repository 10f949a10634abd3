/* SPDX-License-Identifier: MIT */
/* Sends a datagram to ADDRESS PORT and prints the result: the words of an error, or "answered". */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char answer[16];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (argc != 3 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		return 2;
	to.sin_port = htons((unsigned short)atoi(argv[2]));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || send(fd, "x", 1, 0) < 0 ||
	    recv(fd, answer, sizeof(answer), 0) < 0)
		puts(strerror(errno));
	else
		puts("answered");
	return 0;
}
