/* SPDX-License-Identifier: MIT */
/* Takes as much as it gets of what a server of files keeps for each call, and says how much that was and
 * what was said then. `directories DIR MOST` opens a directory, and reads its first entry; `locks FILE
 * MOST` locks every second byte. What it has it keeps until the end of stdin. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static bool open_one(const char *path)
{
	DIR *dir = opendir(path);

	return dir && readdir(dir);
}

static bool lock_one(int fd, long number)
{
	struct flock byte = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2 * number, .l_len = 1};

	return fcntl(fd, F_SETLK, &byte) == 0;
}

int main(int argc, char **argv)
{
	long most = argc == 4 ? strtol(argv[3], NULL, 10) : 0, count = 0;
	bool locks = argc == 4 && strcmp(argv[1], "locks") == 0;
	int fd = locks ? open(argv[2], O_RDWR) : 0;
	struct rlimit files;
	char byte;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return 2;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0 || fd < 0 || most <= 0)
		return 2;
	while (count < most && (locks ? lock_one(fd, count) : open_one(argv[2])))
		count++;
	printf("%ld %s\n", count, count < most ? strerror(errno) : "all");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
