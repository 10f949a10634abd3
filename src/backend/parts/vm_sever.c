/* SPDX-License-Identifier: MIT */
/*
 * Quarantine: every channel of the VM is cut, and nobody's word is taken for it. The companions are
 * killed and reaped, and what they had started (a program in its cell) by pidfd, until it has ended
 * or has no memory to run in any more; then the VMM's own descriptors are listed from outside, in
 * /proc, until no socket is among them but those by which we tell it what to do (its monitor, or
 * the connection to its API) and of its consoles. Each other one that is found is shut down from
 * here. The VMM closes its ends of dead connections by itself and tells nobody, so the list is
 * looked at every few milliseconds. A list that cannot be read proves nothing and fails the
 * quarantine.
 *
 * It cannot open a new socket that leads anywhere: its network namespace is empty, and no path of
 * the host is in its cell; the one directory in which a VMM can make names is removed first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backend/parts/tap.h"
#include "backend/parts/vm.h"
#include "base/broker.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"

#define BACKLOG_MAX 8192 /* more than any listener's */
/* https://www.kernel.org/doc/html/latest/admin-guide/devices.html */
#define TUN_MAJOR 10
#define TUN_MINOR 200

/* Of a link of /proc/PID/fd, "socket:[123]": the number; 0 for anything else. */
static unsigned long long inode_of_link(const char *target)
{
	static const char prefix[] = "socket:[";

	if (strncmp(target, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	return strtoull(target + sizeof(prefix) - 1, NULL, 10);
}

/* One process of the VMM's: itself, or what it has started, which there is not in a VMM that works.
 */
struct holder {
	const struct vm *vm;
	pid_t pid;
	int pidfd, fds; /* fds: its directory in /proc */
};

/* -1 where we are not given one. Of that number there may be another one by now. */
static int copy_of_fd(const struct holder *h, const char *name)
{
	return (int)syscall(SYS_pidfd_getfd, h->pidfd, (int)strtol(name, NULL, 10), 0);
}

/* The same of a socket, if it is that one. */
static int copy_of_socket(const struct holder *h, const char *name, unsigned long long inode)
{
	autoclose int fd = copy_of_fd(h, name);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == inode
		       ? steal_fd(&fd)
		       : -1;
}

/*
 * Shuts a socket of the VMM's down, for both sides and by our own hand: its other end may lie in a
 * companion that is dead and takes long to close what it had open. The VMM sees the end of it
 * and closes. Where we are not given a copy of the descriptor, it has to be told by the other end.
 */
static bool hang_up(int fd)
{
	return fd >= 0 && shutdown(fd, SHUT_RDWR) == 0;
}

/* The node, by whatever name the VMM has it. */
static bool is_tun(const struct holder *h, const char *name)
{
	struct stat st;

	return fstatat(h->fds, name, &st, 0) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == makedev(TUN_MAJOR, TUN_MINOR);
}

/*
 * The network of a guest with a tap is no socket. QEMU before 10 closes its tap where the netdev is
 * deleted; later ones keep it for as long as the card is there, which no guest can be made to give
 * up. A tap with its interface down leads nowhere, and the VMM has no right to change that.
 */
static bool is_tap_severed(const struct holder *h, const char *name)
{
	autoclose int fd = h->vm->severing ? copy_of_fd(h, name) : -1;

	return fd >= 0 && tap_take_down(fd, h->vm->net.control_fd);
}

/*
 * A listener of the VMM's own. To shut it would have the VMM turn in circles: its loop is told of
 * it again and again, and accept() fails. It leads nowhere without that: its name has gone, so that
 * nobody finds it any more, and who had found it before and was not accepted yet is here, and hung
 * up on.
 */
static bool is_listener(int fd)
{
	int listens = 0;
	socklen_t len = sizeof(listens);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens;
}

static bool cut_listener(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct error ignored;

	for (int i = 0; i < BACKLOG_MAX && poll(&p, 1, 0) == 1; i++) {
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

/* Of the one that it accepted from us, and may keep. */
static bool is_kept_accepted(const struct vm *vm, int fd)
{
	struct sockaddr_un peer;
	socklen_t len = sizeof(peer);

	return vm->kept_peer_len != 0 && getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
	       len == vm->kept_peer_len && memcmp(&peer, &vm->kept_peer, len) == 0;
}

/* Whether it leads somewhere yet. What is shut is dead, whoever holds it; of a VMM that closes it
 * then, that is waited for. */
static bool is_socket_alive(const struct holder *h, const char *name, unsigned long long inode)
{
	autoclose int fd = h->vm->severing ? copy_of_socket(h, name, inode) : -1;
	bool own = h->vm->kind->binds_sockets;

	if (own && fd >= 0 && is_listener(fd))
		return !cut_listener(fd);
	if (own && fd >= 0 && is_kept_accepted(h->vm, fd))
		return false;
	return !hang_up(fd) || !own;
}

static bool is_foreign_socket(const struct holder *h, const char *name, struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(h->fds, name, target, sizeof(target) - 1);
	unsigned long long inode;

	if (n < 0) {
		if (errno != ENOENT) /* closed since it was listed */
			error_errno(err, errno, "descriptor %s of %s", name, h->vm->kind->name);
		return false;
	}
	target[n] = '\0';
	inode = inode_of_link(target);
	if (!inode)
		return is_tun(h, name) && !is_tap_severed(h, name);
	return !is_kept(h->vm, inode) && is_socket_alive(h, name, inode);
}

/* How many sockets it holds beside those that are kept; -1 when its descriptors cannot be listed.
 */
static int count_held(struct holder *h, struct error *err)
{
	char path[32];
	struct error why = {0};
	struct dirent *entry;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)h->pid);
	autodir DIR *dir = opendir(path);
	if (!dir)
		return error_errno(err, errno, "%s", path);
	h->fds = dirfd(dir);
	errno = 0;
	while (!why.code && (entry = readdir(dir))) {
		if (*entry->d_name != '.')
			count += is_foreign_socket(h, entry->d_name, &why);
		errno = 0;
	}
	if (!why.code && errno)
		error_errno(&why, errno, "%s", path);
	if (!why.code)
		return count;
	if (err)
		*err = why;
	return -1;
}

/* What the VMM has started, were there such: one that ends while it is looked at holds nothing. */
static int count_held_below(const struct vm *vm, struct error *err)
{
	autofree struct descendants *below = calloc(1, sizeof(*below));
	struct pollfd ended = {.events = POLLIN};
	int count = 0, one = 0;

	if (!below)
		return error_errno(err, ENOMEM, "quarantine");
	if (descendants_add(below, vm->cell.pid, err) < 0)
		count = -1;
	for (size_t i = 0; i < below->count && count >= 0; i++) {
		struct holder h = {.vm = vm, .pid = below->pids[i], .pidfd = below->fds[i]};

		one = count_held(&h, err);
		ended.fd = h.pidfd;
		if (one < 0 && poll(&ended, 1, 0) == 1)
			one = 0;
		count = one < 0 ? -1 : count + one;
	}
	descendants_close(below);
	return count;
}

static int count_foreign_sockets(const struct vm *vm, struct error *err)
{
	struct holder h = {.vm = vm, .pid = vm->cell.pid, .pidfd = vm->cell.pidfd};
	int own = count_held(&h, err);
	int below = own < 0 ? -1 : count_held_below(vm, err);

	return below < 0 ? -1 : own + below;
}

/* --- what only who has the rights can do ------------------------------------------------------ */

/* Of the sockets on which the VMM listens, and the directory in which it could make new names. */
static int remove_names(const struct vm *vm, struct error *err)
{
	if (unlinkat(vm->workspace_fd, "vsock.sock", 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, "vsock.sock");
	return path_remove_tree_at(vm->workspace_fd, VM_RUN_DIR, err);
}

/* Kills what the companions have started. Once a companion is dead its children can no longer be
 * found. The broker takes no word for who they are: all that the supervisor has, but the cell. */
static int cut(struct vm *vm, struct error *err)
{
	pid_t supervisor = broker_asker();

	vm->severing = true;
	if (vm->kind->binds_sockets && remove_names(vm, err) < 0)
		return -1;
	if (supervisor) {
		vm->severed.spared[0] = vm->monitor_pid;
		vm->severed.spared[1] = getpid();
		if (descendants_add(&vm->severed, supervisor, err) < 0)
			return -1;
	}
	for (const struct companion *c = vm->companions.first; c && !supervisor; c = c->next)
		if (!c->gone && descendants_add(&vm->severed, c->proc.pid, err) < 0)
			return -1;
	descendants_kill(&vm->severed);
	return 0;
}

/* 0: nothing is left; 1: not yet, and err says what; -1: it cannot be known. */
static int count_left(const struct vm *vm, struct error *err)
{
	int left;

	if (!descendants_gone(&vm->severed)) {
		error_set(err, ERR_TIMEOUT, "a process of a companion did not end");
		return 1;
	}
	left = count_foreign_sockets(vm, err);
	if (left > 0) {
		error_set(err, ERR_TIMEOUT,
			  "%s still holds %d sockets beside its monitor and its consoles",
			  vm->kind->name, left);
		return 1;
	}
	return left;
}

enum { ASK_TO_CUT, ASK_WHAT_IS_LEFT };

/* In the broker. What is not yet is no error of the duty's. */
static int serve_sever(void *data, const struct broker_message *in, struct broker_message *out,
		       struct error *err)
{
	struct vm *vm = data;
	struct error left = {0};
	int count;

	if (in->len != 1)
		return error_set(err, ERR_INVALID, "no step of a quarantine");
	if (in->bytes[0] == ASK_TO_CUT)
		return vm->severing ? 0 : cut(vm, err);
	count = count_left(vm, &left);
	if (count < 0)
		return error_copy(err, &left);
	out->len = count ? (size_t)snprintf(out->bytes, BROKER_BYTES, "%s", left.msg) : 0;
	return 0;
}

const struct broker_duty vm_sever_duty = {serve_sever};

/* Of the VMM, to take copies of its sockets; and what a virtiofsd is started with. */
size_t vm_broker_fds(const struct vm *vm, int fds[VM_BROKER_FDS])
{
	fds[0] = vm->cell.pidfd;
	fds[1] = vm->workspace_fd;
	fds[2] = vm->lease_fd;
	fds[3] = vm->net.control_fd;
	return vm->net.control_fd < 0 ? 3 : 4;
}

static int sever_step(char step, struct broker_message *out, struct error *err)
{
	const struct broker_message in = {.len = 1, .bytes = {step}};

	return broker_ask(&vm_sever_duty, &in, out, err);
}

static int ask_what_is_left(struct error *err)
{
	struct broker_message out;

	if (sever_step(ASK_WHAT_IS_LEFT, &out, err) < 0)
		return -1;
	if (out.len == 0)
		return 0;
	error_set(err, ERR_TIMEOUT, "%s", out.bytes);
	return 1;
}

/* --- the whole of it -------------------------------------------------------------------------- */

/* The companions that there were; behind a tap there is none. */
static json_t *severed_names(const struct vm *vm)
{
	json_t *names = json_array();

	if (vm->net.mode == NETWORK_BRIDGED)
		json_array_append_new(names, json_string("network"));
	if (vm->kind->binds_sockets)
		json_array_append_new(names, json_string("vsock"));

	for (const struct companion *c = vm->companions.first; c; c = c->next)
		if (c->pid)
			json_array_append_new(names, json_string(c->name));
	return names;
}

static const char *living_companion(const struct vm *vm)
{
	for (const struct companion *c = vm->companions.first; c; c = c->next)
		if (!c->gone)
			return c->name;
	return NULL;
}

static void tell_severed(struct vm *vm, const struct error *why)
{
	json_auto_t *names = why ? NULL : severed_names(vm);

	loop_remove(steal_ptr(&vm->sever_timer));
	vm->events.severed(vm->events.data, names, why);
}

/* As count_left(). */
static int count_unsevered(const struct vm *vm, struct error *err)
{
	const char *living = living_companion(vm);

	if (living) {
		error_set(err, ERR_TIMEOUT, "%s did not end", living);
		return 1;
	}
	return broker_is_asked() ? ask_what_is_left(err) : count_left(vm, err);
}

static void on_sever_look(struct loop *loop, void *data)
{
	struct vm *vm = data;
	struct error why = {0};
	int left;

	(void)loop;
	/* Its pid is its own until it has ended, of which `ended` tells. */
	if (vm->killing || !vm_is_alive(vm))
		return;
	left = count_unsevered(vm, &why);
	if (left > 0 && clock_mono_ns() < vm->sever_deadline_ns)
		return;
	if (left != 0)
		tell_severed(vm, &why);
	else if (vm_is_alive(vm))
		tell_severed(vm, NULL);
}

int vm_sever(struct vm *vm, struct error *err)
{
	if (vm->severing || vm->killing || !vm_is_alive(vm))
		return error_set(err, ERR_CONFLICT, "the VM is ending or severed already");
	vm->sever_timer = loop_add_interval(vm->loop, limit_get(LIMIT_SEVER_LOOK_MS) * NS_PER_MS,
					    on_sever_look, vm, err);
	if (!vm->sever_timer)
		return -1;
	if (vm->net.mode != NETWORK_ISOLATED && vm->kind->unplug_net &&
	    vm->kind->unplug_net(vm, err) < 0) {
		loop_remove(steal_ptr(&vm->sever_timer));
		return -1;
	}
	vm->severing = true;
	vm->sever_deadline_ns = limit_deadline(LIMIT_SEVER_MS);
	if (broker_is_asked() ? sever_step(ASK_TO_CUT, NULL, err) < 0 : cut(vm, err) < 0)
		return -1;
	companions_end(&vm->companions);
	return 0;
}
