/* SPDX-License-Identifier: MIT */
/*
 * The last step of a quarantine's proof, in the broker. The machine itself is cut off then. The live
 * supervisor carries streams of the guest to declared targets and from published ports, and one that
 * was taken over does not close its ends. It can also hide them: in another process, or unread in a
 * socket.
 *
 * So the broker does not ask who holds a connection. It remembers each that it has opened, and each
 * listener (base/ways.h), and looks for them in /proc/net/tcp, where the kernel lists every socket by
 * its inode as long as it is open. The supervisor can make no other way: its system calls leave it no
 * socket of its own (live_confine.c), and its broker opens none any more.
 *
 * A connection to the console comes by a listener of the supervisor's own, and leads to this host's
 * processes. The listener is bound by a name with the supervisor's number in it, which each connection
 * keeps, so that /proc/net/unix tells of those that are hidden too: a connection can wait unread in the
 * VMM's own monitor socket. Where the name could not have the number (descriptor_bind_at()), they are
 * looked for among the descriptors of the supervisor, which stands still meanwhile.
 *
 * Who may look at a process by ptrace(2) differs between hosts, and an ordinary user's broker is no
 * parent of the supervisor. So no copy of a descriptor is taken: the links in /proc/PID/fd have the
 * inode of each socket, and /proc/net/unix its name.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/cleanup.h"
#include "base/platform/linux/process_directory.h"
#include "base/platform/linux/process_stop.h"
#include "base/proc.h"
#include "base/ways.h"
#include "supervisor/live/console.h"
#include "supervisor/live/live.h"

#define SOCKETS_MAX 4096

struct sockets {
	unsigned long long inodes[SOCKETS_MAX];
	size_t count;
};

static int add_socket(struct sockets *sockets, int fds, const char *name, struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(fds, name, target, sizeof(target) - 1);

	if (n < 0)
		return error_errno(err, errno, "descriptor %s of the live supervisor", name);
	target[n] = '\0';
	if (strncmp(target, "socket:[", 8) != 0)
		return 0;
	if (sockets->count == SOCKETS_MAX)
		return error_set(err, ERR_IO, "the live supervisor has more than %d sockets",
				 SOCKETS_MAX);
	sockets->inodes[sockets->count++] = strtoull(target + 8, NULL, 10);
	return 0;
}

static int list_sockets(const struct proc *supervisor, struct sockets *out, struct error *err)
{
	autoclose int own = process_directory(supervisor->pid, supervisor->pidfd, err);
	autodir DIR *dir = own < 0 ? NULL : process_list(own, "fd");
	const struct dirent *entry;

	if (own < 0)
		return -1;
	if (!dir)
		return error_errno(err, errno, "descriptors of the live supervisor");
	while ((errno = 0, entry = readdir(dir)))
		if (*entry->d_name != '.' && add_socket(out, dirfd(dir), entry->d_name, err) < 0)
			return -1;
	return errno ? error_errno(err, errno, "descriptors of the live supervisor") : 0;
}

static bool has_socket(const struct sockets *sockets, unsigned long long inode)
{
	for (size_t i = 0; i < sockets->count; i++)
		if (sockets->inodes[i] == inode)
			return true;
	return false;
}

/* --- the sockets of this network ---------------------------------------------------------------- */

typedef bool line_fn(const char *line, void *data);

/* Returns how many lines of the list fn takes for one of what is looked for, or -1. */
static int count_lines(const char *path, line_fn *fn, void *data, struct error *err)
{
	FILE *list = fopen(path, "re");
	autofree char *line = NULL;
	size_t room = 0;
	int count = 0;
	bool failed;

	/* A kernel without IPv6 has no list of it. */
	if (!list)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", path);
	while (getline(&line, &room, list) > 0)
		count += fn(line, data);
	failed = ferror(list);
	fclose(list);
	return failed ? error_set(err, ERR_IO, "%s cannot be read", path) : count;
}

static int count_internet_lines(line_fn *fn, void *data, struct error *err)
{
	int v4 = count_lines("/proc/self/net/tcp", fn, data, err);
	int v6 = v4 < 0 ? -1 : count_lines("/proc/self/net/tcp6", fn, data, err);

	return v6 < 0 ? -1 : v4 + v6;
}

/* Reads a line of /proc/net/tcp or tcp6: "0: 0100007F:1F90 00000000:0000 0A ... INODE". An address is
 * of words of 32 bits, each a number of this machine's byte order. Returns false for the title above
 * the lines, and for a connection that no process has any more. */
static bool read_internet_line(const char *line, struct sockaddr_storage *local,
			       unsigned long long *inode)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)local;
	struct sockaddr_in *v4 = (struct sockaddr_in *)local;
	char address[33];
	unsigned words[4], port;

	if (sscanf(line, "%*s %32[0-9A-F]:%4X %*s %*s %*s %*s %*s %*s %*s %llu", address, &port,
		   inode) != 3 ||
	    *inode == 0)
		return false;
	*local = (struct sockaddr_storage){0};
	if (strlen(address) == 8 && sscanf(address, "%8X", &words[0]) == 1) {
		local->ss_family = AF_INET;
		v4->sin_addr.s_addr = words[0];
		v4->sin_port = htons((uint16_t)port);
		return true;
	}
	if (strlen(address) != 32 ||
	    sscanf(address, "%8X%8X%8X%8X", &words[0], &words[1], &words[2], &words[3]) != 4)
		return false;
	/* A socket for both families has an IPv4 address in it. */
	if (words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff)) {
		local->ss_family = AF_INET;
		v4->sin_addr.s_addr = words[3];
		v4->sin_port = htons((uint16_t)port);
		return true;
	}
	local->ss_family = AF_INET6;
	memcpy(&v6->sin6_addr, words, sizeof(words));
	v6->sin6_port = htons((uint16_t)port);
	return true;
}

#define LISTENING 0x0a /* TCP_LISTEN, as /proc/net/tcp has it */

/* A port that is published no longer can be another program's, whose connections are none of this machine.
 * Neither the machine nor its supervisor can make a listener that the broker does not know. */
static bool forget_port_of_others(const char *line, void *data)
{
	struct sockaddr_storage local;
	unsigned long long inode;
	unsigned state;

	(void)data;
	if (sscanf(line, "%*s %*s %*s %2X", &state) == 1 && state == LISTENING &&
	    read_internet_line(line, &local, &inode) && !ways_has(inode))
		ways_forget_listener_at(&local);
	return false;
}

static bool is_listed_way(const char *line, void *data)
{
	const struct sockets *supervisors = data;
	struct sockaddr_storage local;
	unsigned long long inode;

	return read_internet_line(line, &local, &inode) &&
	       (ways_has(inode) || ways_has_listener_at(&local) || has_socket(supervisors, inode));
}

/* A line of /proc/net/unix, whose inode is 0 until somebody has accepted the connection. */
static bool is_console_way(const char *line, void *data)
{
	const struct sockets *supervisors = data;
	unsigned long long inode;
	int end = 0, process = 0;
	const char *name;

	if (sscanf(line, "%*s %*s %*s %*s %*s %*s %llu%n", &inode, &end) != 1)
		return false;
	name = strrchr(line + end, '/');
	if (!name || strncmp(name + 1, CONSOLE_SOCK_NAME, sizeof(CONSOLE_SOCK_NAME) - 1) != 0)
		return false;
	return has_socket(supervisors, inode) ||
	       (sscanf(line + end, " /proc/%d/fd/", &process) == 1 && process == broker_asker());
}

/* --- forgetting what is closed ------------------------------------------------------------------ */

struct open_ways {
	unsigned long long *inodes;
	size_t count, open; /* the open ones stand first */
};

static bool note_open(const char *line, void *data)
{
	struct open_ways *ways = data;
	struct sockaddr_storage local;
	unsigned long long inode, other;

	if (!read_internet_line(line, &local, &inode))
		return false;
	for (size_t i = ways->open; i < ways->count; i++) {
		if (ways->inodes[i] != inode)
			continue;
		other = ways->inodes[ways->open];
		ways->inodes[ways->open++] = inode;
		ways->inodes[i] = other;
		return true;
	}
	return false;
}

/* A read of the list begins at a number of entries of a bucket, so that an entry is passed over where
 * another one before it was closed since the last read. What three lists lack is closed. Where the lists
 * cannot be read all are taken for open. */
#define LISTS_READ 3
static size_t keep_open(unsigned long long *inodes, size_t count)
{
	struct open_ways ways = {.inodes = inodes, .count = count};
	struct error ignored;

	for (int i = 0; i < LISTS_READ && ways.open < ways.count; i++)
		if (count_internet_lines(note_open, &ways, &ignored) < 0)
			return count;
	return ways.open;
}

void live_cut_begin(void)
{
	ways_forget_by(keep_open);
}

/* --- the look ----------------------------------------------------------------------------------- */

/* Returns how many sockets lead out, of a supervisor that stands still, or -1. */
static int count_ways_out(const struct proc *supervisor, struct error *err)
{
	struct sockets sockets = {.count = 0};
	int internet, consoles;

	if (list_sockets(supervisor, &sockets, err) < 0)
		return -1;
	if (count_internet_lines(forget_port_of_others, NULL, err) < 0)
		return -1;
	internet = count_internet_lines(is_listed_way, &sockets, err);
	consoles = internet < 0 ? -1
				: count_lines("/proc/self/net/unix", is_console_way, &sockets, err);
	return consoles < 0 ? -1 : internet + consoles;
}

int live_cut_off(void *data, struct error *err)
{
	const struct live *live = data;
	struct proc supervisor;
	struct error why = {0};
	bool was_stopped;
	int ways;

	/* Without a broker this process itself is the supervisor. */
	if (!broker_asker())
		return 0;
	if (proc_hold(broker_asker(), &supervisor, err) < 0)
		return -1;
	was_stopped = process_is_stopped(&supervisor);
	if (process_stop(&supervisor, "the live supervisor", &why) < 0) {
		proc_let_go(&supervisor);
		error_copy(err, &why);
		return why.code == ERR_TIMEOUT ? 1 : -1;
	}
	ways = count_ways_out(&supervisor, err);
	if (!was_stopped)
		(void)pidfd_send_signal(supervisor.pidfd, SIGCONT, NULL, 0);
	proc_let_go(&supervisor);
	if (ways > 0) {
		error_set(err, ERR_TIMEOUT,
			  "%d connections that the live supervisor had are still open", ways);
		return 1;
	}
	return ways < 0 ? -1 : cut_proof_give(live->proof_fd, err);
}
