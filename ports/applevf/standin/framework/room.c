/* SPDX-License-Identifier: MIT */
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128

static struct sockaddr_un address_of(int path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", path);
	return address;
}

bool room_socket_open(struct room_socket *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/vz-standin-XXXXXX";

	*s = (struct room_socket){-1, -1};
	if (!mkdtemp(dir))
		return false;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", dir);
	s->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool open_ = s->listen >= 0 &&
		     bind(s->listen, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		     listen(s->listen, BACKLOG) == 0 &&
		     (s->path = open(address.sun_path, O_PATH | O_CLOEXEC)) >= 0;
	int error = errno;
	unlink(address.sun_path);
	rmdir(dir);
	errno = error;
	return open_;
}

int room_socket_connect(const struct room_socket *s)
{
	struct sockaddr_un address = address_of(s->path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

void room_socket_close(struct room_socket *s)
{
	if (s->listen >= 0)
		close(s->listen);
	if (s->path >= 0)
		close(s->path);
	*s = (struct room_socket){-1, -1};
}

/* --- the room -------------------------------------------------------------------------------- */

static bool open_table(struct vsock_room *room)
{
	size_t bytes = sizeof(*room->table) * ROOM_PORTS;

	room->table_fd = memfd_create("vsock-ports", MFD_CLOEXEC);
	if (room->table_fd < 0 || ftruncate(room->table_fd, (off_t)bytes) < 0)
		return false;
	void *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, room->table_fd, 0);
	if (table == MAP_FAILED)
		return false;
	room->table = table;
	for (int i = 0; i < ROOM_PORTS; i++) {
		room->table[i].port = ROOM_PORT_NONE;
		snprintf(room->table[i].path, sizeof(room->table[i].path), "/proc/self/fd/%d",
			 room->ports[i].path);
	}
	return true;
}

static void room_free(struct vsock_room *room)
{
	room_socket_close(&room->clients);
	for (int i = 0; i < ROOM_PORTS; i++)
		room_socket_close(&room->ports[i]);
	if (room->table)
		munmap(room->table, sizeof(*room->table) * ROOM_PORTS);
	if (room->table_fd >= 0)
		close(room->table_fd);
	if (room->wake >= 0)
		close(room->wake);
	free(room);
}

struct vsock_room *room_open(void)
{
	struct vsock_room *room = calloc(1, sizeof(*room));

	if (!room)
		return NULL;
	room->users = 1;
	room->table_fd = -1;
	room->clients = (struct room_socket){-1, -1};
	for (int i = 0; i < ROOM_PORTS; i++)
		room->ports[i] = room->clients;
	room->wake = eventfd(0, EFD_CLOEXEC);
	bool ready = room->wake >= 0 && room_socket_open(&room->clients);
	for (int i = 0; i < ROOM_PORTS && ready; i++)
		ready = room_socket_open(&room->ports[i]);
	if (ready && open_table(room))
		return room;
	int error = errno;
	room_free(room);
	errno = error;
	return NULL;
}

struct vsock_room *room_keep(struct vsock_room *room)
{
	__atomic_add_fetch(&room->users, 1, __ATOMIC_ACQ_REL);
	return room;
}

void room_drop(struct vsock_room *room)
{
	if (room && __atomic_sub_fetch(&room->users, 1, __ATOMIC_ACQ_REL) == 0)
		room_free(room);
}

void room_close(struct vsock_room *room)
{
	const uint64_t one = 1;

	if (write(room->wake, &one, sizeof(one)) != sizeof(one))
		abort();
}

/* --- ports ----------------------------------------------------------------------------------- */

static int find_slot(const struct vsock_room *room, uint32_t port)
{
	for (int i = 0; i < ROOM_PORTS; i++)
		if (__atomic_load_n(&room->table[i].port, __ATOMIC_ACQUIRE) == port)
			return i;
	return -1;
}

bool room_set_port(struct vsock_room *room, uint32_t port)
{
	int slot = find_slot(room, port);

	if (slot >= 0)
		return true;
	slot = find_slot(room, ROOM_PORT_NONE);
	if (slot >= 0)
		__atomic_store_n(&room->table[slot].port, port, __ATOMIC_RELEASE);
	return slot >= 0;
}

void room_clear_port(struct vsock_room *room, uint32_t port)
{
	int slot = find_slot(room, port);

	if (slot >= 0)
		__atomic_store_n(&room->table[slot].port, ROOM_PORT_NONE, __ATOMIC_RELEASE);
}

static bool wait_for_guest(const struct vsock_room *room, struct pollfd *fds)
{
	for (int i = 0; i < ROOM_PORTS; i++)
		fds[i] = (struct pollfd){.fd = room->ports[i].listen, .events = POLLIN};
	fds[ROOM_PORTS] = (struct pollfd){.fd = room->wake, .events = POLLIN};
	while (poll(fds, ROOM_PORTS + 1, -1) < 0)
		if (errno != EINTR)
			return false;
	return !fds[ROOM_PORTS].revents;
}

int room_accept(struct vsock_room *room, uint32_t *port)
{
	struct pollfd fds[ROOM_PORTS + 1];

	while (wait_for_guest(room, fds)) {
		for (int i = 0; i < ROOM_PORTS; i++) {
			if (!fds[i].revents)
				continue;
			/* cppcheck-suppress nullPointer ; accept4() allows it */
			int fd = accept4(fds[i].fd, NULL, NULL, SOCK_CLOEXEC);
			*port = __atomic_load_n(&room->table[i].port, __ATOMIC_ACQUIRE);
			if (fd >= 0 && *port != ROOM_PORT_NONE)
				return fd;
			if (fd >= 0)
				close(fd);
		}
	}
	return -1;
}

/* --- connections to the guest ---------------------------------------------------------------- */

/* Reads the answer, such as "OK 1073741824\n", one byte at a time, since the bytes after the
 * newline come from the guest and must stay in the socket. */
static bool read_answer(int fd, uint32_t *source)
{
	char line[32];
	size_t length = 0;

	while (length < sizeof(line) - 1) {
		ssize_t n = recv(fd, &line[length], 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		if (line[length++] == '\n')
			break;
	}
	line[length] = '\0';
	return sscanf(line, "OK %u\n", source) == 1;
}

int room_connect(struct vsock_room *room, uint32_t port, uint32_t *source)
{
	char line[32];
	int length = snprintf(line, sizeof(line), "CONNECT %u\n", port);
	int fd = room_socket_connect(&room->clients);

	if (fd < 0)
		return -1;
	if (send(fd, line, (size_t)length, MSG_NOSIGNAL) == length && read_answer(fd, source))
		return fd;
	close(fd);
	errno = ECONNRESET;
	return -1;
}
