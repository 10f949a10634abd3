/* SPDX-License-Identifier: MIT */
/* Locks FILE by CALL (fcntl, flock, or fcntl-wait, flock-wait, which wait for the lock), says what comes
 * of it: the words of an error, or "locked", and keeps the lock until the end of stdin. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = argc == 3 ? open(argv[2], O_RDWR) : -1, status;
	char byte;

	if (fd < 0)
		return 2;
	int wait = strstr(argv[1], "-wait") != NULL;
	if (argv[1][1] == 'c')
		status = fcntl(fd, wait ? F_SETLKW : F_SETLK, &whole);
	else
		status = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
	puts(status < 0 ? strerror(errno) : "locked");
	fflush(stdout);
	while (status == 0 && read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
