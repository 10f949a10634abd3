/* SPDX-License-Identifier: MIT */
/*
 * Lists the VMM's descriptors from outside, in /proc, until only the kept sockets can lead out of
 * the machine. The kept sockets are the VMM's monitor, or the connection to its API, and its
 * consoles. Every other socket that is found is shut down by this process.
 *
 * A list proves something only about a stopped process. A running VMM may accept a connection under
 * a number that was examined already, or move a connection to that number. So the VMM is stopped
 * for each examination.
 *
 * The VMM cannot hold a descriptor that the list does not show. Its system call filter does not let
 * a thread have its own descriptors, and does not allow io_uring (vmm_calls.c). Messages that wait
 * in a socket are read and dropped.
 */
#include "backend/parts/vm_held.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "backend/parts/tap.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/linux/process_directory.h"
#include "base/platform/linux/process_stop.h"

/* A limit for loops. No listener has this number of waiting clients, and no socket has this number
 * of messages. */
#define QUEUE_MAX 8192
/* The device number of /dev/net/tun:
 * https://www.kernel.org/doc/html/latest/admin-guide/devices.html. */
#define TUN_MAJOR 10
#define TUN_MINOR 200

/* --- stopping the VMM ------------------------------------------------------------------------- */

int vm_freeze(const struct vm *vm, struct descendants *below, struct error *err)
{
	const struct proc vmm = {vm->cell.pid, vm->cell.pidfd};
	struct descendants again = {0};
	int status;

	*below = (struct descendants){0};
	if (process_stop(&vmm, vm->kind->name, err) < 0)
		return -1;
	/* A VMM that was not taken over has started no process. A process that a VMM has started is
	 * stopped too. */
	status = descendants_add(below, &vmm, err);
	for (size_t i = 0; i < below->count && status == 0; i++) {
		struct error why = {0};

		if (process_stop(&(struct proc){below->pids[i], below->fds[i]}, vm->kind->name,
				 &why) < 0 &&
		    why.code != ERR_NOT_FOUND)
			status = error_copy(err, &why);
	}
	/* A process may have started another process before it was stopped. So the processes are
	 * listed a second time. */
	if (status == 0)
		status = descendants_add(&again, &vmm, err);
	if (status == 0 && again.count > below->count)
		status = error_set(
			err, ERR_TIMEOUT,
			"it cannot be proven that the machine is cut off, because a process of %s started another process while the machine's processes were being stopped",
			vm->kind->name);
	descendants_close(&again);
	if (status < 0)
		vm_thaw(vm, below);
	return status;
}

/* Counts how often the stopped VMM, and the processes that it has started, have run until now. A
 * VMM that was taken over can wake itself by a timer. So an examination proves something only if
 * the counts before and after it are equal. Fails with ERR_TIMEOUT if one of the processes runs. */
static int count_switches(const struct vm *vm, const struct descendants *below, uint64_t *out,
			  struct error *err)
{
	uint64_t sum = 0;

	if (process_count_switches(&(struct proc){vm->cell.pid, vm->cell.pidfd}, &sum, err) < 0)
		return -1;
	for (size_t i = 0; i < below->count; i++)
		if (process_count_switches(&(struct proc){below->pids[i], below->fds[i]}, &sum,
					   err) < 0)
			return -1;
	*out = sum;
	return 0;
}

void vm_thaw(const struct vm *vm, struct descendants *below)
{
	for (size_t i = 0; i < below->count; i++)
		(void)pidfd_send_signal(below->fds[i], SIGCONT, NULL, 0);
	(void)pidfd_send_signal(vm->cell.pidfd, SIGCONT, NULL, 0);
	descendants_close(below);
}

/* --- the descriptors of the VMM --------------------------------------------------------------- */

/* One process of the VMM: the VMM itself, or a process that it has started. */
struct holder {
	const struct vm *vm;
	pid_t pid;
	/* pidfd: the pidfd of the process; fds: the directory of its descriptors in /proc. */
	int pidfd, fds;
};

/* Copies a descriptor of the process into this process. Returns the copy, which the caller closes,
 * or -1 if this process has no right to it. */
static int copy_of_fd(const struct holder *h, const char *name)
{
	return (int)syscall(SYS_pidfd_getfd, h->pidfd, (int)strtol(name, NULL, 10), 0);
}

static int socket_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : -1;
}

/* Reads and drops the messages that wait in a socket. Returns true if the socket is empty. A
 * message may carry descriptors (SCM_RIGHTS). No list of a process shows these descriptors, and a
 * process can take them even out of a socket that is shut down. When a message is read without room
 * for its descriptors, the kernel closes them. */
static bool drain(int fd)
{
	bool stream = socket_option(fd, SO_TYPE) == SOCK_STREAM;
	char scrap[4096];

	for (int i = 0; i < QUEUE_MAX; i++) {
		ssize_t n = recv(fd, scrap, sizeof(scrap), MSG_DONTWAIT);

		if ((n < 0 && errno != EINTR) || (n == 0 && stream))
			return true;
	}
	return !stream; /* an empty message looks like the end, unless the socket is a stream */
}

/*
 * Hangs up on all clients that wait at a listener of the VMM. Returns true if no client waits any
 * more. The listener itself is not shut down. Otherwise the VMM's loop would report it again and
 * again, since accept() would fail each time. The listener leads nowhere: its name was removed, so
 * no new client finds it, and the clients that have found it lose their connections here.
 */
static bool cut_listener(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct error ignored;

	for (int i = 0; i < QUEUE_MAX && poll(&p, 1, 0) == 1; i++) {
		autoclose int waiting = sock_accept(fd, &ignored);

		if (waiting < 0)
			break;
	}
	return poll(&p, 1, 0) == 0;
}

static bool is_kept(const struct vm *vm, unsigned long long inode)
{
	for (size_t i = 0; i < vm->kept_count; i++)
		if (vm->kept[i] == inode)
			return true;
	return false;
}

/* Returns true if `fd` is the connection that the VMM has accepted from microagent and may keep. */
static bool is_kept_accepted(const struct vm *vm, int fd)
{
	struct sockaddr_un peer;
	socklen_t len = sizeof(peer);

	return vm->kept_peer_len != 0 && getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
	       len == vm->kept_peer_len && memcmp(&peer, &vm->kept_peer, len) == 0;
}

/*
 * Shuts down both directions of a socket of a VMM that is being severed. Uses a copy of the
 * socket's descriptor. The other end may be in a dead companion that takes long to close its files.
 * If this process gets no copy, only that other end can tell the VMM that the connection has
 * ended.
 *
 * Returns false if the socket may still lead somewhere. A socket that is shut down and empty leads
 * nowhere, whichever process holds it. A VMM that gets its sockets from microagent closes such a
 * socket itself, and false is returned until it has done so.
 */
static bool cut_socket(const struct holder *h, const char *name, unsigned long long inode)
{
	autoclose int fd = h->vm->severing ? copy_of_fd(h, name) : -1;
	bool own = h->vm->kind->binds_sockets;
	struct stat st;

	/* The number may belong to another descriptor now. */
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode) || st.st_ino != inode)
		return false;
	if (own && socket_option(fd, SO_ACCEPTCONN) == 1 && socket_option(fd, SO_DOMAIN) == AF_UNIX)
		return cut_listener(fd);
	if (own && is_kept_accepted(h->vm, fd))
		return true;
	return shutdown(fd, SHUT_RDWR) == 0 && drain(fd) && own;
}

/* Cuts the channel to which a descriptor leads. Returns false if the descriptor may still lead out
 * of the machine. If the VMM is not being severed, cuts nothing. */
static bool cut_descriptor(const struct holder *h, const char *name, struct error *err)
{
	static const char prefix[] = "socket:[";
	char target[PATH_MAX];
	ssize_t n = readlinkat(h->fds, name, target, sizeof(target) - 1);
	unsigned long long inode = 0;

	if (n < 0) {
		if (errno != ENOENT) /* ENOENT: the descriptor was closed after the list was read */
			error_errno(err, errno, "descriptor %s of %s", name, h->vm->kind->name);
		return true;
	}
	target[n] = '\0';
	if (strncmp(target, prefix, sizeof(prefix) - 1) == 0)
		inode = strtoull(target + sizeof(prefix) - 1, NULL, 10);
	if (inode)
		return is_kept(h->vm, inode) || cut_socket(h, name, inode);

	/*
	 * A tap is not a socket. Its device number is compared, since its device node may have any
	 * name. QEMU before 10 closes its tap when the netdev is deleted. Later versions keep the
	 * tap while the card exists, and a guest cannot be made to give up the card. A tap whose
	 * interface is down leads nowhere, and the VMM has no right to set it up again.
	 */
	struct stat st;

	if (fstatat(h->fds, name, &st, 0) < 0 || !S_ISCHR(st.st_mode) ||
	    st.st_rdev != makedev(TUN_MAJOR, TUN_MINOR))
		return true;
	autoclose int tap = h->vm->severing ? copy_of_fd(h, name) : -1;
	return tap >= 0 && tap_take_down(tap, h->vm->net.control_fd);
}

/* Cuts the channels of a process, except the kept sockets. Returns how many descriptors may still
 * lead out of the machine. Returns -1 with an error if the descriptors cannot be listed. */
static int count_held(struct holder *h, struct error *err)
{
	struct error why = {0};
	struct dirent *entry;
	int count = 0;
	autoclose int own = process_directory(h->pid, h->pidfd, err);

	if (own < 0)
		return -1;
	autodir DIR *dir = process_list(own, "fd");
	if (!dir)
		return error_errno(err, errno, "descriptors of process %d", (int)h->pid);
	h->fds = dirfd(dir);
	errno = 0;
	while (!why.code && (entry = readdir(dir))) {
		if (*entry->d_name != '.')
			count += !cut_descriptor(h, entry->d_name, &why);
		errno = 0;
	}
	if (!why.code && errno)
		error_errno(&why, errno, "descriptors of process %d", (int)h->pid);
	return why.code ? error_copy(err, &why) : count;
}

/* Calls count_held() for the stopped VMM and for each process that it has started. Returns the sum,
 * or -1 with an error. Fails with ERR_TIMEOUT if one of these processes has run during the
 * examination. */
static int count_held_of_all(const struct vm *vm, const struct descendants *below,
			     struct error *err)
{
	struct holder itself = {.vm = vm, .pid = vm->cell.pid, .pidfd = vm->cell.pidfd};
	uint64_t before, behind;
	int count;

	if (count_switches(vm, below, &before, err) < 0)
		return -1;
	count = count_held(&itself, err);
	if (count < 0)
		return -1;
	for (size_t i = 0; i < below->count; i++) {
		struct holder h = {.vm = vm, .pid = below->pids[i], .pidfd = below->fds[i]};
		int one = count_held(&h, err);

		/* A process that has ended during its examination holds nothing. */
		if (one < 0 && !process_has_ended(h.pidfd))
			return -1;
		count += one < 0 ? 0 : one;
	}
	if (count_switches(vm, below, &behind, err) < 0)
		return -1;
	if (behind != before)
		return error_set(
			err, ERR_TIMEOUT,
			"it cannot be proven that the machine is cut off, because a process of %s did not stand still while its open sockets were counted",
			vm->kind->name);
	return count;
}

int vm_held(const struct vm *vm, struct error *err)
{
	struct descendants below;
	struct error why = {0};
	int count;

	if (vm_freeze(vm, &below, &why) < 0) {
		error_copy(err, &why);
		return why.code == ERR_TIMEOUT ? 1 : -1;
	}
	count = count_held_of_all(vm, &below, &why);
	vm_thaw(vm, &below);
	if (count == 0)
		return 0;
	if (count < 0) {
		error_copy(err, &why);
		return why.code == ERR_TIMEOUT ? 1 : -1;
	}
	error_set(
		err, ERR_TIMEOUT,
		"the machine is not cut off yet, because %s still has %d sockets open, not counting those of its monitor and its consoles",
		vm->kind->name, count);
	return 1;
}
