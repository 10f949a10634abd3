/* SPDX-License-Identifier: MIT */
/* Prints how many IPv4 addresses the C library finds for NAME, or why it finds none. */
#include <netdb.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int count = 0, why = argc == 2 ? getaddrinfo(argv[1], NULL, &hints, &found) : EAI_FAIL;

	for (const struct addrinfo *one = found; why == 0 && one; one = one->ai_next)
		count++;
	if (why)
		puts(gai_strerror(why));
	else
		printf("%d\n", count);
	return 0;
}
