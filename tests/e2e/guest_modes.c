/* SPDX-License-Identifier: MIT */
/*
 * Each way in which a program gives a file its mode, with set-user-ID, with set-group-ID and with
 * both.
 *
 *   guest_modes DIR      a line for each: "<way> <mode> <errno>"; the files stay in DIR
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *dir;
static char path[4096];

static int plain(void)
{
	return open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
}

static int by_chmod(mode_t mode)
{
	return close(plain()) < 0 ? -1 : chmod(path, mode);
}

static int by_fchmod(mode_t mode)
{
	int fd = plain();
	int rc = fchmod(fd, mode);

	close(fd);
	return rc;
}

/* The write takes the bits away, and they are given again. */
static int by_write_and_chmod(mode_t mode)
{
	int fd = plain();
	int rc = write(fd, "x", 1) == 1 ? fchmodat(AT_FDCWD, path, mode, 0) : -1;

	close(fd);
	return rc;
}

static int by_open(mode_t mode)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);

	return fd < 0 ? -1 : close(fd);
}

static int by_creat(mode_t mode)
{
	int fd = creat(path, mode);

	return fd < 0 ? -1 : close(fd);
}

static int by_mknod(mode_t mode)
{
	return mknod(path, S_IFREG | mode, 0);
}

static int by_mkfifo(mode_t mode)
{
	return mknod(path, S_IFIFO | mode, 0);
}

/* A name for a file that had none, where the file system has such files. */
static int by_tmpfile(mode_t mode)
{
	char link[64];
	int fd, rc;

	fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	rc = linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
	close(fd);
	return rc;
}

static const struct {
	const char *name;
	int (*give)(mode_t mode);
} ways[] = {
	{"chmod", by_chmod}, {"fchmod", by_fchmod}, {"fchmodat", by_write_and_chmod},
	{"open", by_open},   {"creat", by_creat},   {"tmpfile", by_tmpfile},
	{"mknod", by_mknod}, {"mkfifo", by_mkfifo},
};

int main(int argc, char **argv)
{
	static const mode_t modes[] = {04755, 02755, 06755};

	if (argc != 2)
		return 2;
	dir = argv[1];
	umask(0);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		for (size_t j = 0; j < sizeof(modes) / sizeof(*modes); j++) {
			snprintf(path, sizeof(path), "%s/%s-%o", dir, ways[i].name, modes[j]);
			errno = 0;
			int rc = ways[i].give(modes[j]);
			printf("%s %o %d\n", ways[i].name, modes[j], rc < 0 ? errno : 0);
		}
	return 0;
}
