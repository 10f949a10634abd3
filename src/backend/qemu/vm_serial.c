/* SPDX-License-Identifier: MIT */
/* The consoles: socket pairs whose other ends are QEMU's UART (ttyS0) and its virtio console (hvc0).
 * What the guest says on either goes the same way; input is the UART's. QEMU takes it only as fast
 * as the guest reads it, so what the socket does not take stays with the caller. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/qemu/vm.h"
#include "base/cleanup.h"
#include "base/fd.h"

/* False: nothing now, or never again. */
static bool receive(struct vm *vm, int fd, struct loop_watch **watch)
{
	uint8_t bytes[16384];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n > 0) {
		vm->events.serial(vm->events.data, bytes, (size_t)n);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		loop_remove(steal_ptr(watch));
	return false;
}

static void on_serial(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct vm *vm = data;
	struct error ignored;

	(void)loop;
	if (events & EPOLLOUT) {
		(void)loop_set_events(vm->serial_watch, EPOLLIN, &ignored);
		if (vm->events.console_room)
			vm->events.console_room(vm->events.data);
	}
	if (vm->serial_watch && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		receive(vm, fd, &vm->serial_watch);
}

static void on_hvc(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct vm *vm = data;

	(void)loop, (void)events;
	receive(vm, fd, &vm->console_watch);
}

static int open_line(struct vm *vm, loop_fd_fn *fn, int *ours, struct loop_watch **watch,
		     int *theirs, struct error *err)
{
	int pair[2];

	if (fd_socketpair(pair, err) < 0)
		return -1;
	*ours = pair[0];
	*theirs = pair[1];
	if (fd_nonblock(*ours, true, err) < 0)
		return -1;
	*watch = loop_add_fd(vm->loop, *ours, EPOLLIN, fn, vm, err);
	return *watch ? 0 : -1;
}

int vm_open_serial(struct vm *vm, int *serial, int *console, struct error *err)
{
	if (open_line(vm, on_serial, &vm->serial_fd, &vm->serial_watch, serial, err) < 0)
		return -1;
	return open_line(vm, on_hvc, &vm->console_fd, &vm->console_watch, console, err);
}

/* Bounded by what the sockets hold. */
void vm_serial_drain(struct vm *vm)
{
	for (int i = 0; i < 64 && vm->serial_watch; i++)
		if (!receive(vm, vm->serial_fd, &vm->serial_watch))
			break;
	for (int i = 0; i < 64 && vm->console_watch; i++)
		if (!receive(vm, vm->console_fd, &vm->console_watch))
			break;
}

size_t vm_console(struct vm *vm, const uint8_t *bytes, size_t len)
{
	struct error ignored;
	ssize_t n;

	if (!vm->serial_watch)
		return len; /* QEMU has closed it: there is no guest to read them */
	n = send(vm->serial_fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return len;
	if (n < (ssize_t)len)
		(void)loop_set_events(vm->serial_watch, EPOLLIN | EPOLLOUT, &ignored);
	return n < 0 ? 0 : (size_t)n;
}
