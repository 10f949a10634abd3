/* SPDX-License-Identifier: MIT */
/* Locks FILE by CALL (fcntl, flock, or fcntl-wait, flock-wait, which wait for the lock), says what comes
 * of it: the words of an error, or "locked", and keeps the lock until the end of stdin. A line of stdin
 * unlocks: "unlock" by the CALL, "wait" by an fcntl() that waits, "close" by closing the file. Each is
 * answered by the words of an error or "Success". */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int unlock(int fd, const char *how, int by_fcntl)
{
	struct flock nothing = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	if (how[0] == 'c')
		return close(fd);
	if (how[0] == 'w' || by_fcntl)
		return fcntl(fd, how[0] == 'w' ? F_SETLKW : F_SETLK, &nothing);
	return flock(fd, LOCK_UN);
}

int main(int argc, char **argv)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = argc == 3 ? open(argv[2], O_RDWR) : -1, status;
	char line[16];

	if (fd < 0)
		return 2;
	int by_fcntl = argv[1][1] == 'c', wait = strstr(argv[1], "-wait") != NULL;
	if (by_fcntl)
		status = fcntl(fd, wait ? F_SETLKW : F_SETLK, &whole);
	else
		status = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
	puts(status < 0 ? strerror(errno) : "locked");
	fflush(stdout);
	while (status == 0 && fgets(line, sizeof(line), stdin)) {
		puts(unlock(fd, line, by_fcntl) < 0 ? strerror(errno) : "Success");
		fflush(stdout);
	}
	return 0;
}
