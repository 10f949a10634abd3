/* SPDX-License-Identifier: MIT */
/*
 * Does the last step of a quarantine's proof, in the broker: proves that the guest has no
 * connection left through the live supervisor. The machine itself is already cut off at this step.
 *
 * The live supervisor carries streams of the guest to declared targets and from published ports. A
 * supervisor that an attacker controls may not close its sockets of these connections. Such a
 * supervisor can also hide these sockets: it can pass them to another process, or leave them unread
 * in a message queue. So the broker does not ask which process holds a connection. The broker
 * remembers each connection that it has opened, and each listener (base/ways.h), and looks for them
 * in /proc/net/tcp. In this file the kernel lists every socket by its inode as long as the socket
 * is open. The supervisor cannot get other connections: its system call filter lets it make no
 * socket (live_confine.c), and at this step the broker makes no connections any more.
 *
 * Connections to the console and to the guest's agent are accepted from listeners that the
 * supervisor has bound. The clients of these connections are processes of this host. The socket of
 * such a connection keeps the file to which its listener was bound. The kernel shows this file for
 * every socket (unix_diag), even for a hidden socket, for example one that was passed and is unread
 * in the queue of the VMM's monitor socket. The paths of sockets are not enough. Every process can
 * bind a socket to a path that looks like one of these. And two machines have the same paths if
 * their processes have the same pids in different pid namespaces.
 *
 * If the kernel has no unix_diag, only the paths can be used. A listener is bound by a path that
 * contains the supervisor's pid, and /proc/net/unix has this path for each of its connections. If
 * the path could not contain the pid (descriptor_bind_at()), the broker stops the supervisor and
 * looks for the connections among its descriptors.
 *
 * The kernel writes a list in several parts, and begins each part by skipping the number of entries
 * that it has already written. So an entry is missed if an earlier entry was removed between two
 * parts. A socket counts as closed only if it is missing in three lists.
 *
 * Hosts differ in which processes may use ptrace(2) on another process, and the broker of an
 * ordinary user is not a parent of the supervisor. So the broker copies no descriptor of the
 * supervisor. Instead, the links in /proc/PID/fd have the inode of each socket, and /proc/net/unix
 * has the path for the inode.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/broker.h"
#include "base/cleanup.h"
#include "base/platform/linux/netlink.h"
#include "base/platform/linux/process_directory.h"
#include "base/platform/linux/process_stop.h"
#include "base/proc.h"
#include "base/ways.h"
#include "supervisor/live/console.h"
#include "supervisor/live/live.h"

#define SOCKETS_MAX 4096
#define LISTS_READ 3
#define LISTENING 0x0a /* the state TCP_LISTEN; a listening Unix socket has the same number */

struct sockets {
	unsigned uid; /* the user id of the process to which the sockets belong */
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
		return error_set(
			err, ERR_IO,
			"it cannot be proven that the machine is cut off, because the live supervisor has more than %d sockets",
			SOCKETS_MAX);
	sockets->inodes[sockets->count++] = strtoull(target + 8, NULL, 10);
	return 0;
}

static int list_sockets(const struct proc *supervisor, struct sockets *out, struct error *err)
{
	autoclose int own = process_directory(supervisor->pid, supervisor->pidfd, err);
	autodir DIR *dir = own < 0 ? NULL : process_list(own, "fd");
	const struct dirent *entry;
	struct stat st;

	if (own < 0)
		return -1;
	if (!dir || fstat(own, &st) < 0)
		return error_errno(err, errno, "descriptors of the live supervisor");
	out->uid = st.st_uid;
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

/* Returns the number of lines of the file for which `fn` returns true, or -1 with an error. */
static int count_lines(const char *path, line_fn *fn, void *data, struct error *err)
{
	FILE *list = fopen(path, "re");
	autofree char *line = NULL;
	size_t room = 0;
	int count = 0;
	bool failed;

	/* A kernel without IPv6 has no file that lists IPv6 sockets. */
	if (!list)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", path);
	while (getline(&line, &room, list) > 0)
		count += fn(line, data);
	failed = ferror(list);
	fclose(list);
	return failed ? error_set(
				err, ERR_IO,
				"%s cannot be read, so it cannot be proven that the machine is cut off",
				path)
		      : count;
}

static int count_internet_lines(line_fn *fn, void *data, struct error *err)
{
	int v4 = count_lines("/proc/self/net/tcp", fn, data, err);
	int v6 = v4 < 0 ? -1 : count_lines("/proc/self/net/tcp6", fn, data, err);

	return v6 < 0 ? -1 : v4 + v6;
}

struct internet_socket {
	struct sockaddr_storage local;
	unsigned uid; /* the user id of the process that made or accepted the socket */
	unsigned long long inode;
};

/* Reads a line of /proc/net/tcp or tcp6: "0: 0100007F:1F90 00000000:0000 0A ... INODE". An address
 * consists of words of 32 bits, and each word is printed as a number in the byte order of this
 * host. Returns false for the heading of the file, and for a connection that belongs to no process
 * any more. */
static bool read_internet_line(const char *line, struct internet_socket *out)
{
	struct sockaddr_storage *local = &out->local;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)local;
	struct sockaddr_in *v4 = (struct sockaddr_in *)local;
	char address[33];
	unsigned words[4], port;

	if (sscanf(line, "%*s %32[0-9A-F]:%4X %*s %*s %*s %*s %*s %u %*s %llu", address, &port,
		   &out->uid, &out->inode) != 4 ||
	    out->inode == 0)
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
	/* A socket for both IPv4 and IPv6 has an IPv4 address in the form ::ffff:A.B.C.D. */
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

/* Returns true if a socket with this user id belongs to another user of the host. Such a socket
 * does not count. Otherwise any user could prevent the proof of a quarantine by binding a socket to
 * a port that was published. The sockets of the machine's processes belong to the user of the
 * supervisor, of its broker or of a cell. The user ids of cells are not those of user accounts
 * (cell_id(), subuid(5)), so none of them is below ACCOUNTS_END. */
#define ACCOUNTS_END 65534u
static bool is_of_another_user(unsigned supervisors_uid, unsigned uid)
{
	return uid < ACCOUNTS_END && uid != supervisors_uid && uid != geteuid();
}

static bool is_listed_way(const char *line, void *data)
{
	const struct sockets *supervisors = data;
	struct internet_socket socket;

	if (!read_internet_line(line, &socket))
		return false;
	return ways_has(socket.inode) || has_socket(supervisors, socket.inode) ||
	       (ways_has_listener_at(&socket.local) &&
		!is_of_another_user(supervisors->uid, socket.uid));
}

/* --- the workspace's own sockets ------------------------------------------------------------------ */

/* The sockets by which processes of this host connect to the machine. control.sock is not in the
 * list: it stays open, since halt, stop and kill need it. */
static const char *const ways_in[LIVE_QUARANTINE_SOCKETS] = {CONSOLE_SOCK_NAME, "vsock.sock",
							     AGENT_SOCK, AGENT_SOCK_EARLY};

/* The files of those sockets in ways_in that this machine has. `at` has a copy of struct
 * unix_diag_vfs for each file, with its inode number. `fds` has an open descriptor of each file, so
 * that the kernel does not give its inode number to another file. Otherwise a socket of any program
 * on the same file system could get the number of a removed file, and would be mistaken for one of
 * these sockets. The whole process has only one such variable, as for base/ways.h. */
static struct {
	struct unix_diag_vfs at[LIVE_QUARANTINE_SOCKETS];
	int fds[LIVE_QUARANTINE_SOCKETS];
	size_t count;
} own_files;

static int list_unix_sockets(netlink_take_fn *take, void *data, struct error *err)
{
	const struct unix_diag_req wanted = {
		.sdiag_family = AF_UNIX,
		.udiag_states = UINT32_MAX,
		.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS,
	};
	autoclose int fd = netlink_open(NETLINK_SOCK_DIAG, err);
	struct netlink_message request;

	netlink_begin(&request, SOCK_DIAG_BY_FAMILY, 0, &wanted, sizeof(wanted));
	return fd < 0 ? -1 : netlink_dump(fd, &request, take, data, err);
}

/* Reads a reply of the kernel about a socket. If `name` is not NULL, sets *name to the path to
 * which the socket was bound. Returns false if the socket has no file, or if `name` is given and
 * the socket has no path. */
static bool read_unix_socket(const struct netlink_reply *reply, struct unix_diag_msg *socket,
			     struct unix_diag_vfs *file, struct netlink_bytes *name)
{
	struct netlink_bytes attributes, found;

	if (!netlink_head(reply->body, socket, sizeof(*socket), &attributes) ||
	    !netlink_attribute(attributes, UNIX_DIAG_VFS, &found) || found.len < sizeof(*file) ||
	    (name && !netlink_attribute(attributes, UNIX_DIAG_NAME, name)))
		return false;
	memcpy(file, found.data, sizeof(*file));
	return true;
}

/* Notes the file of a listener that this process has bound in the workspace. */
static int note_own_file(void *data, const struct netlink_reply *reply, struct error *err)
{
	const struct workspace *ws = data;
	struct unix_diag_msg socket;
	struct unix_diag_vfs file;
	struct netlink_bytes name;
	char front[32], path[108];

	(void)err;
	if (!read_unix_socket(reply, &socket, &file, &name) || socket.udiag_state != LISTENING ||
	    name.len >= sizeof(path))
		return 0;
	memcpy(path, name.data, name.len);
	path[name.len] = '\0';
	snprintf(front, sizeof(front), "/proc/%d/fd/", (int)getpid());
	if (strncmp(path, front, strlen(front)) != 0)
		return 0;
	for (size_t i = 0; i < own_files.count; i++)
		if (memcmp(&own_files.at[i], &file, sizeof(file)) == 0)
			return 0;
	for (size_t i = 0; i < ARRAY_SIZE(ways_in) && own_files.count < ARRAY_SIZE(own_files.at);
	     i++) {
		autoclose int fd = openat(ws->fd, ways_in[i], O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode) ||
		    (uint32_t)st.st_ino != file.udiag_vfs_ino)
			continue;
		own_files.at[own_files.count] = file;
		own_files.fds[own_files.count++] = steal_fd(&fd);
		break;
	}
	return 0;
}

size_t live_quarantine_note_sockets(const struct live *live, int keep[LIVE_QUARANTINE_SOCKETS])
{
	struct error ignored;

	/* An entry that one list misses is in the next list. */
	for (int i = 0; i < LISTS_READ; i++)
		(void)list_unix_sockets(note_own_file, (void *)(uintptr_t)&live->ws, &ignored);
	memcpy(keep, own_files.fds, own_files.count * sizeof(*keep));
	return own_files.count;
}

static int count_own_file(void *data, const struct netlink_reply *reply, struct error *err)
{
	int *count = data;
	struct unix_diag_msg socket;
	struct unix_diag_vfs file;

	(void)err;
	if (!read_unix_socket(reply, &socket, &file, NULL))
		return 0;
	for (size_t i = 0; i < own_files.count; i++)
		*count += file.udiag_vfs_ino == own_files.at[i].udiag_vfs_ino &&
			  file.udiag_vfs_dev == own_files.at[i].udiag_vfs_dev;
	return 0;
}

/* Returns true if a line of /proc/net/unix shows one of the sockets in ways_in that belongs to this
 * supervisor. The inode in the line is 0 until a process has accepted the connection. */
static bool is_named_way(const char *line, void *data)
{
	const struct sockets *supervisors = data;
	unsigned long long inode;
	int end = 0, process = 0;
	const char *name;

	if (sscanf(line, "%*s %*s %*s %*s %*s %*s %llu%n", &inode, &end) != 1)
		return false;
	name = strrchr(line + end, '/');
	for (size_t i = 0; name && i < ARRAY_SIZE(ways_in); i++)
		if (strcspn(name + 1, "\n") == strlen(ways_in[i]) &&
		    strncmp(name + 1, ways_in[i], strlen(ways_in[i])) == 0)
			return has_socket(supervisors, inode) ||
			       (sscanf(line + end, " /proc/%d/fd/", &process) == 1 &&
				process == broker_asker());
	return false;
}

static int count_unix_ways(struct sockets *supervisors, struct error *err)
{
	int count = 0;

	if (own_files.count == 0)
		return count_lines("/proc/self/net/unix", is_named_way, supervisors, err);
	return list_unix_sockets(count_own_file, &count, err) < 0 ? -1 : count;
}

/* --- forgetting closed sockets --------------------------------------------------------------- */

struct open_ways {
	unsigned long long *inodes;
	size_t count, open; /* the inodes of open sockets are inodes[0] to inodes[open - 1] */
};

static bool note_open(const char *line, void *data)
{
	struct open_ways *ways = data;
	struct internet_socket socket;
	unsigned long long inode, other;

	if (!read_internet_line(line, &socket))
		return false;
	inode = socket.inode;
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

/* Moves the inodes of open sockets to the beginning of the array, and returns their number. If the
 * lists cannot be read, treats all sockets as open. */
static size_t keep_open(unsigned long long *inodes, size_t count)
{
	struct open_ways ways = {.inodes = inodes, .count = count};
	struct error ignored;

	for (int i = 0; i < LISTS_READ && ways.open < ways.count; i++)
		if (count_internet_lines(note_open, &ways, &ignored) < 0)
			return count;
	return ways.open;
}

/* A listener that was closed, and the facts by which its connections are distinguished from those
 * of other listeners. */
struct ended_listener {
	const struct sockaddr_storage *at;
	unsigned supervisors_uid;
	bool failed; /* there was no memory to note a connection */
};

/* Notes a connection at the address of the listener, unless the connection is already noted. Always
 * returns false. */
static bool note_accepted(const char *line, void *data)
{
	struct ended_listener *ended = data;
	struct internet_socket socket;
	struct error ignored;
	unsigned state;

	if (sscanf(line, "%*s %*s %*s %2X", &state) == 1 && state != LISTENING &&
	    read_internet_line(line, &socket) && way_accepts_at(ended->at, &socket.local) &&
	    !is_of_another_user(ended->supervisors_uid, socket.uid) && !ways_has(socket.inode) &&
	    ways_note_inode(socket.inode, &ignored) < 0)
		ended->failed = true;
	return false;
}

/* Notes the connections that a listener has accepted and that are still open. The supervisor may
 * still have one of these connections, or may have hidden it in another process. */
static int note_all_accepted(const struct sockaddr_storage *listener, struct error *err)
{
	struct ended_listener ended = {.at = listener};
	struct proc supervisor;
	struct stat st;
	int own, status;

	if (proc_hold(broker_asker(), &supervisor, err) < 0)
		return -1;
	own = process_directory(supervisor.pid, supervisor.pidfd, err);
	status = own < 0	       ? -1
		 : fstat(own, &st) < 0 ? error_errno(err, errno, "live supervisor")
				       : 0;
	cleanup_close(&own);
	proc_let_go(&supervisor);
	if (status < 0)
		return -1;
	ended.supervisors_uid = st.st_uid;
	for (int i = 0; i < LISTS_READ; i++)
		if (count_internet_lines(note_accepted, &ended, err) < 0)
			return -1;
	return ended.failed ? error_errno(err, ENOMEM, "connections of a published port") : 0;
}

void live_quarantine_prepare(void)
{
	ways_forget_by(keep_open, note_all_accepted);
}

/* --- counting the connections that remain ----------------------------------------------------- */

/* Returns the number of sockets through which the guest can still send or receive; -1 with an
 * error. The supervisor must be stopped during the call. */
static int count_ways_out(const struct proc *supervisor, struct error *err)
{
	struct sockets sockets = {.count = 0};
	int internet = 0, own = 0;

	if (list_sockets(supervisor, &sockets, err) < 0)
		return -1;
	for (int i = 0; i < LISTS_READ && internet + own == 0; i++) {
		internet = count_internet_lines(is_listed_way, &sockets, err);
		own = internet < 0 ? -1 : count_unix_ways(&sockets, err);
		if (own < 0)
			return -1;
	}
	return internet + own;
}

int live_prove_quarantine(void *data, struct error *err)
{
	const struct live *live = data;
	struct proc supervisor;
	struct error why = {0};
	bool was_stopped;
	int ways;

	/* Without a broker, this process itself is the supervisor, so there is nothing to prove. */
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
		error_set(
			err, ERR_TIMEOUT,
			"%d connections that the live supervisor had are still open, so the machine is not cut off",
			ways);
		return 1;
	}
	return ways < 0 ? -1 : quarantine_proof_give(live->proof_fd, err);
}
