/* SPDX-License-Identifier: MIT */
/*
 * The last step of a quarantine's proof, in the broker. The machine itself is cut off then. The live
 * supervisor carries streams of the guest to declared targets and from published ports, and one that
 * was taken over does not close its ends. So the broker stops the supervisor, looks at each socket
 * among its descriptors, and gives the proof only where none leads out.
 *
 * Who may look at a process by ptrace(2) differs between hosts, and an ordinary user's broker is no
 * parent of the supervisor. So no copy of a descriptor is taken: the links in /proc/PID/fd have the
 * number of each socket, and /proc/net lists the sockets of this network by their numbers. A
 * connection by TCP, a listener and a bound UDP socket lead out, and so does a connection to the
 * console. The supervisor can make no other socket: its system calls leave it none (live_confine.c),
 * and its broker opens no way any more.
 *
 * What stays: control.sock, its connections, the pairs by which the supervisor, its broker, its
 * caller and the VMM talk, and what it made before the first byte of the guest: a netlink socket, and
 * a socket of the cell's own network, by which a tap is taken down.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/cleanup.h"
#include "base/platform/linux/process_directory.h"
#include "base/platform/linux/process_stop.h"
#include "base/proc.h"
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

/* A line of /proc/net/tcp or udp, or the title above them. */
static bool is_internet_way(const char *line, const struct sockets *sockets)
{
	unsigned long long inode;

	return sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &inode) == 1 &&
	       has_socket(sockets, inode);
}

/* A line of /proc/net/unix. A connection to the console keeps the name of its listener. */
static bool is_console_way(const char *line, const struct sockets *sockets)
{
	unsigned long long inode;
	int end = 0;
	const char *name;

	if (sscanf(line, "%*s %*s %*s %*s %*s %*s %llu%n", &inode, &end) != 1 ||
	    !has_socket(sockets, inode))
		return false;
	name = strrchr(line + end, '/');
	return name && strncmp(name + 1, CONSOLE_SOCK_NAME, sizeof(CONSOLE_SOCK_NAME) - 1) == 0;
}

static int count_lines(const char *path, bool (*is_way)(const char *, const struct sockets *),
		       const struct sockets *sockets, struct error *err)
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
		count += is_way(line, sockets);
	failed = ferror(list);
	fclose(list);
	return failed ? error_set(err, ERR_IO, "%s cannot be read", path) : count;
}

/* Returns how many sockets of a stopped supervisor lead out, or -1. */
static int count_ways_out(const struct proc *supervisor, struct error *err)
{
	static const struct {
		const char *path;
		bool (*is_way)(const char *line, const struct sockets *sockets);
	} lists[] = {{"/proc/self/net/tcp", is_internet_way},
		     {"/proc/self/net/tcp6", is_internet_way},
		     {"/proc/self/net/udp", is_internet_way},
		     {"/proc/self/net/udp6", is_internet_way},
		     {"/proc/self/net/unix", is_console_way}};
	struct sockets sockets = {.count = 0};
	int all = 0;

	if (list_sockets(supervisor, &sockets, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		int count = count_lines(lists[i].path, lists[i].is_way, &sockets, err);

		if (count < 0)
			return -1;
		all += count;
	}
	return all;
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
		error_set(err, ERR_TIMEOUT, "the live supervisor still holds %d connections", ways);
		return 1;
	}
	return ways < 0 ? -1 : cut_proof_give(live->proof_fd, err);
}
