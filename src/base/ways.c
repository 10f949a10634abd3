/* SPDX-License-Identifier: MIT */
#include "base/ways.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LISTENERS_MAX 1024
#define FIRST_ROOM 1024

/* The ways out of the machine that this process remembers (ways.h). */
static struct {
	unsigned long long *inodes;
	size_t count, room;
	struct sockaddr_storage listeners[LISTENERS_MAX];
	size_t listener_count;
	ways_open_fn *open_fn;
	ways_accepted_fn *accepted_fn;
} own;

void ways_forget_by(ways_open_fn *open, ways_accepted_fn *accepted)
{
	own.open_fn = open;
	own.accepted_fn = accepted;
}

/* Makes room for one more inode. First forgets the sockets that are closed. Then, if at least half
 * of the array is still in use, enlarges the array. */
static int make_room(struct error *err)
{
	unsigned long long *grown;
	size_t room;

	if (own.count == own.room && own.open_fn)
		own.count = own.open_fn(own.inodes, own.count);
	if (own.count < own.room / 2)
		return 0;
	room = own.room ? 2 * own.room : FIRST_ROOM;
	grown = realloc(own.inodes, room * sizeof(*grown));
	if (!grown)
		return error_errno(err, ENOMEM, "ways out");
	own.inodes = grown;
	own.room = room;
	return 0;
}

int ways_note_inode(unsigned long long inode, struct error *err)
{
	if (own.count == own.room && make_room(err) < 0)
		return -1;
	own.inodes[own.count++] = inode;
	return 0;
}

int ways_note_connection(int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "a way out");
	return ways_note_inode((unsigned long long)st.st_ino, err);
}

bool ways_has(unsigned long long inode)
{
	for (size_t i = 0; i < own.count; i++)
		if (own.inodes[i] == inode)
			return true;
	return false;
}

/* --- listeners -------------------------------------------------------------------------------- */

static in_port_t port_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
					      : ((const struct sockaddr_in *)address)->sin_port;
}

static bool is_wildcard(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return ((const struct sockaddr_in *)address)->sin_addr.s_addr == INADDR_ANY;
}

static bool is_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
			      &((const struct sockaddr_in6 *)b)->sin6_addr,
			      sizeof(struct in6_addr)) == 0;
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

bool way_accepts_at(const struct sockaddr_storage *listener, const struct sockaddr_storage *local)
{
	return port_of(listener) == port_of(local) &&
	       (is_wildcard(listener) || is_same_address(listener, local));
}

bool ways_has_listener_at(const struct sockaddr_storage *local)
{
	for (size_t i = 0; i < own.listener_count; i++)
		if (way_accepts_at(&own.listeners[i], local))
			return true;
	return false;
}

static void forget_listener_at(const struct sockaddr_storage *local)
{
	for (size_t i = 0; i < own.listener_count;)
		if (way_accepts_at(&own.listeners[i], local))
			own.listeners[i] = own.listeners[--own.listener_count];
		else
			i++;
}

void ways_forget_ended_listener(int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);
	struct error ignored;

	if (own.accepted_fn && getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
	    own.accepted_fn(&at, &ignored) == 0)
		forget_listener_at(&at);
}

int ways_note_listener(int fd, struct error *err)
{
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return error_errno(err, errno, "a listener");
	for (size_t i = 0; i < own.listener_count; i++)
		if (port_of(&own.listeners[i]) == port_of(&address) &&
		    is_same_address(&own.listeners[i], &address))
			return ways_note_connection(fd, err);
	if (own.listener_count == LISTENERS_MAX)
		return error_set(
			err, ERR_CONFLICT,
			"no more ports can be published, because this machine has published %d since its start: stop it and start it again",
			LISTENERS_MAX);
	own.listeners[own.listener_count++] = address;
	return ways_note_connection(fd, err);
}
