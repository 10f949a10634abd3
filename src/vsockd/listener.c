/* SPDX-License-Identifier: MIT */
#include "vsockd/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

/* Returns true if the file is a socket at which no process listens, so that connections are
 * refused. */
static bool is_dead_socket(int dirfd, const char *name)
{
	struct error why = {0};
	struct stat st;
	int fd;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = sock_connect_at(dirfd, name, &why);
	if (fd >= 0)
		close(fd);
	return fd < 0 && why.errnum == ECONNREFUSED;
}

int listener_open(const char *path, struct error *err)
{
	autofree char *absolute = path_absolute(path, err);
	autoclose int dirfd = -1;
	struct error why = {0};
	char *slash;
	int fd;

	if (!absolute)
		return -1;
	slash = strrchr(absolute, '/');
	*slash = '\0';
	dirfd = open(*absolute ? absolute : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return error_errno(err, errno, "directory %s", absolute);
	fd = sock_listen_at(dirfd, slash + 1, &why);
	if (fd < 0 && why.errnum == EADDRINUSE && is_dead_socket(dirfd, slash + 1) &&
	    unlinkat(dirfd, slash + 1, 0) == 0)
		fd = sock_listen_at(dirfd, slash + 1, &why);
	if (fd < 0 && why.errnum == EADDRINUSE)
		return error_set(
			err, ERR_CONFLICT,
			"%s already exists: end the program that listens there, or remove the file",
			slash + 1);
	if (fd < 0)
		return error_set(err, why.code, "%s", why.msg);
	return fd;
}

int listener_check(int fd, bool listens, struct error *err)
{
	int type = 0, accepts = 0;
	socklen_t size = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) < 0)
		return error_errno(err, errno, "inherited descriptor");
	if (type != SOCK_STREAM || !accepts == listens)
		return error_set(
			err, ERR_INVALID,
			"the inherited descriptor is not a %s stream socket: this is a bug of the program that starts microagent-vsockd",
			listens ? "listening" : "connected");
	return fd_cloexec(fd, true, err) < 0 || fd_nonblock(fd, true, err) < 0 ? -1 : 0;
}
