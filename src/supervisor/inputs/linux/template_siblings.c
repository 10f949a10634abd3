/* SPDX-License-Identifier: MIT */
#include "supervisor/inputs/template_siblings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "store/store.h"
#include "supervisor/inputs/template_memory.h"

#define SOCKET_NAME "siblings.sock"
#define HELD_NAME "siblings"
#define HELD_BYTES 64

/* --- which memory it is ---------------------------------------------------------------------- */

static int name_memory(int ram, char out[HELD_BYTES], struct error *err)
{
	struct stat st;

	if (fstat(ram, &st) < 0)
		return error_errno(err, errno, "the guest's memory");
	snprintf(out, HELD_BYTES, "%ju:%ju:%jd\n", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
		 (intmax_t)st.st_size);
	return 0;
}

static bool is_filled_one(int dir, int ram)
{
	static const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
	autobuf struct buf held = BUF_INIT(HELD_BYTES);
	char name[HELD_BYTES];

	return path_read_file_at(dir, HELD_NAME, &held, NULL) == 0 &&
	       name_memory(ram, name, NULL) == 0 && strcmp(buf_string(&held), name) == 0 &&
	       (fcntl(ram, F_GET_SEALS) & seals) == seals;
}

/* --- from a sibling -------------------------------------------------------------------------- */

static int receive_memory(int dir, struct template_memory *out)
{
	autoclose int sock = sock_connect_now_at(dir, SOCKET_NAME, NULL);
	int fds[FD_PASS_MAX] = {-1, -1};
	size_t count = 2;
	char byte;

	if (sock < 0 || fd_wait(sock, POLLIN, limit_deadline(LIMIT_SIBLING_MS), NULL) < 0 ||
	    fd_receive_passed(sock, &byte, 1, fds, &count, MSG_DONTWAIT) != 1)
		return -1;
	if (count == 2 && is_filled_one(dir, fds[0])) {
		*out = (struct template_memory){fds[0], fds[1]};
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return -1;
}

void template_memory_give(int siblings_fd, int ram_fd)
{
	autoclose int peer = sock_accept(siblings_fd, NULL);
	const int fds[] = {ram_fd, siblings_fd};

	if (peer >= 0)
		(void)fd_send_passing(peer, "", 1, fds, ARRAY_SIZE(fds),
				      MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* --- the first ------------------------------------------------------------------------------- */

static int fill(int dir, int file, struct template_memory *out, struct error *err)
{
	autoclose int ram = template_memory_load(file, true, err);
	autoclose int siblings = -1;
	char name[HELD_BYTES];

	if (ram < 0 || name_memory(ram, name, err) < 0)
		return -1;
	if (unlinkat(dir, SOCKET_NAME, 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, SOCKET_NAME);
	if (path_replace_file_at(dir, HELD_NAME, name, strlen(name), 0400, PATH_NO_SYNC, err) < 0)
		return -1;
	siblings = sock_listen_at(dir, SOCKET_NAME, err);
	if (siblings < 0)
		return -1;
	*out = (struct template_memory){steal_fd(&ram), steal_fd(&siblings)};
	return 0;
}

int template_memory_share(int dir, int file, struct template_memory *out, struct error *err)
{
	autoclose int lock = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (lock < 0)
		return error_errno(err, errno, "the template");
	if (flock_until(lock, LOCK_EX, limit_deadline(LIMIT_COMMAND_LOCK_MS), "the template", err) <
	    0)
		return -1;
	return receive_memory(dir, out) == 0 ? 0 : fill(dir, file, out, err);
}
