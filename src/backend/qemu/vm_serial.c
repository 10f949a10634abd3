/* SPDX-License-Identifier: MIT */
/* The serial console: a socket pair whose other end is QEMU's UART. QEMU takes input only as fast as
 * the guest reads it, so what the socket does not take stays with the caller. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/qemu/vm.h"
#include "base/cleanup.h"
#include "base/fd.h"

bool vm_serial_receive(struct vm *vm)
{
	uint8_t bytes[16384];
	ssize_t n = read(vm->serial_fd, bytes, sizeof(bytes));

	if (n > 0) {
		vm->events.serial(vm->events.data, bytes, (size_t)n);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		loop_remove(steal_ptr(&vm->serial_watch));
	return false;
}

static void on_serial(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct vm *vm = data;
	struct error ignored;

	(void)loop, (void)fd;
	if (events & EPOLLOUT) {
		(void)loop_set_events(vm->serial_watch, EPOLLIN, &ignored);
		if (vm->events.console_room)
			vm->events.console_room(vm->events.data);
	}
	if (vm->serial_watch && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		vm_serial_receive(vm);
}

int vm_open_serial(struct vm *vm, int *theirs, struct error *err)
{
	int pair[2];

	if (fd_socketpair(pair, err) < 0)
		return -1;
	vm->serial_fd = pair[0];
	*theirs = pair[1];
	if (fd_nonblock(vm->serial_fd, true, err) < 0)
		return -1;
	vm->serial_watch = loop_add_fd(vm->loop, vm->serial_fd, EPOLLIN, on_serial, vm, err);
	return vm->serial_watch ? 0 : -1;
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
