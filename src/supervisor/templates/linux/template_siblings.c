/* SPDX-License-Identifier: MIT */
#include "supervisor/templates/template_siblings.h"

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
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "store/store.h"
#include "supervisor/templates/template_memory.h"

#define SOCKET_NAME "siblings.sock"
#define HELD_NAME "siblings"
#define HELD_BYTES 128

/* --- the identity of memory and listener ----------------------------------------------------- */

/* Writes a text that identifies the memory and the listener. The text also has the mode of the
 * memory, since a VMM opens the memory by a path, and the open would fail if a live supervisor had
 * changed the mode. */
static int name_memory(const struct template_memory *memory, char out[HELD_BYTES],
		       struct error *err)
{
	struct stat ram, siblings;

	if (fstat(memory->ram_fd, &ram) < 0 || fstat(memory->siblings_fd, &siblings) < 0)
		return error_errno(err, errno, "the guest's memory");
	snprintf(out, HELD_BYTES, "%ju:%ju:%jd:%jo %ju:%ju\n", (uintmax_t)ram.st_dev,
		 (uintmax_t)ram.st_ino, (intmax_t)ram.st_size, (uintmax_t)ram.st_mode,
		 (uintmax_t)siblings.st_dev, (uintmax_t)siblings.st_ino);
	return 0;
}

static bool is_sealed(int ram)
{
	static const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

	return (fcntl(ram, F_GET_SEALS) & seals) == seals;
}

static bool has_option(int sock, int option, int wanted)
{
	socklen_t len = sizeof(int);
	int value;

	return getsockopt(sock, SOL_SOCKET, option, &value, &len) == 0 && value == wanted;
}

static bool is_unix_listener(int sock)
{
	return has_option(sock, SO_DOMAIN, AF_UNIX) && has_option(sock, SO_ACCEPTCONN, 1);
}

/* Returns true if both descriptors refer to the files that a command has made. A live supervisor
 * that an attacker controls could pass other descriptors. The most dangerous one would be its
 * lease, since every process that has a lease counts as a process of the lease's workspace. */
static bool is_filled_one(int dir, const struct template_memory *memory)
{
	autobuf struct buf held = BUF_INIT(HELD_BYTES);
	char name[HELD_BYTES];

	return path_read_file_at(dir, HELD_NAME, &held, NULL) == 0 &&
	       name_memory(memory, name, NULL) == 0 && strcmp(buf_string(&held), name) == 0 &&
	       is_sealed(memory->ram_fd) && is_unix_listener(memory->siblings_fd);
}

/* --- from a sibling -------------------------------------------------------------------------- */

static int receive_memory(int dir, struct template_memory *out)
{
	autoclose int sock = sock_connect_now_at(dir, SOCKET_NAME, NULL);
	int fds[FD_PASS_MAX] = {-1, -1};
	size_t count = 2;
	int own = -1;
	char byte;

	if (sock < 0 || fd_wait(sock, POLLIN, limit_deadline(LIMIT_SIBLING_MS), NULL) < 0 ||
	    fd_receive_passed(sock, &byte, 1, fds, &count, MSG_DONTWAIT) != 1)
		return -1;
	const struct template_memory given = {fds[0], fds[1]};

	/* Opens the memory again, to get an open file description of its own. Siblings with a
	 * common open file description would share its file offset. Two siblings that an attacker
	 * controls could pass messages through this offset, even in a quarantine. */
	if (count == 2 && is_filled_one(dir, &given))
		own = file_reopen(given.ram_fd, O_RDWR | O_CLOEXEC);
	if (own >= 0) {
		close(given.ram_fd);
		*out = (struct template_memory){own, given.siblings_fd};
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return -1;
}

int template_memory_give(int siblings_fd, int ram_fd)
{
	struct error err = {0};
	autoclose int peer = sock_accept(siblings_fd, &err);
	const int fds[] = {ram_fd, siblings_fd};

	if (peer >= 0)
		(void)fd_send_passing(peer, "", 1, fds, ARRAY_SIZE(fds),
				      MSG_NOSIGNAL | MSG_DONTWAIT);
	return peer >= 0 || err.code == ERR_UNAVAILABLE ? 0 : -1;
}

/* --- the first machine ----------------------------------------------------------------------- */

/* Limits how long accept() waits. All siblings share the listener's open file description. If one
 * sibling makes the listener blocking, accept() of the other siblings waits at most this long. */
static int bound_accept(int sock, struct error *err)
{
	const struct timeval bound = {.tv_usec = limit_get(LIMIT_SIBLING_MS) % 1000 * 1000,
				      .tv_sec = limit_get(LIMIT_SIBLING_MS) / 1000};

	if (setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound)) < 0)
		return error_errno(err, errno, SOCKET_NAME);
	return 0;
}

static int note_memory(int dir, const struct template_memory *memory, struct error *err)
{
	char name[HELD_BYTES];

	return name_memory(memory, name, err) < 0
		       ? -1
		       : path_replace_file_at(dir, HELD_NAME, name, strlen(name), 0400,
					      PATH_NO_SYNC, err);
}

static int fill(int dir, int file, struct template_memory *out, struct error *err)
{
	autoclose int ram = template_memory_load(file, true, err);
	autoclose int siblings = -1;

	if (ram < 0)
		return -1;
	if (unlinkat(dir, SOCKET_NAME, 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, SOCKET_NAME);
	siblings = sock_listen_at(dir, SOCKET_NAME, err);
	if (siblings < 0)
		return -1;
	const struct template_memory filled = {ram, siblings};

	if (bound_accept(siblings, err) < 0 || note_memory(dir, &filled, err) < 0) {
		(void)unlinkat(dir, SOCKET_NAME, 0);
		return -1;
	}
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
