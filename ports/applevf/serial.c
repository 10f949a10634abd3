/* SPDX-License-Identifier: MIT */
/*
 * The serial console, which is two pipes. The framework has the guest's ends of the pipes
 * (developer.apple.com/documentation/virtualization/vzfilehandleserialportattachment). These ends
 * stay open in this process until the object of the machine is freed. So a read of a pipe never
 * returns the end of file. After the machine has ended, only the bytes that are in the pipe are
 * still read.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "applevf/applevf.h"
#include "base/cleanup.h"
#include "base/fd.h"

#define READ_BYTES 16384
#define DRAIN_READS 64 /* enough reads for all bytes that a pipe can hold */

/* Reads bytes from the guest. Returns false if there are no bytes at present, or if the pipe was
 * closed. */
static bool receive_guest_bytes(struct vm *vm)
{
	uint8_t bytes[READ_BYTES];
	ssize_t n = read(vm->serial.out, bytes, sizeof(bytes));

	if (n > 0)
		vm->events.serial(vm->events.data, bytes, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		loop_remove(steal_ptr(&vm->serial.out_watch));
	return n > 0;
}

static void on_serial_out(struct loop *loop, int fd, uint32_t events, void *data)
{
	(void)loop, (void)fd, (void)events;
	receive_guest_bytes(data);
}

void serial_drain(struct vm *vm)
{
	for (int i = 0; i < DRAIN_READS && vm->serial.out_watch; i++)
		if (!receive_guest_bytes(vm))
			break;
}

static void on_serial_in(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct vm *vm = data;
	struct error ignored;

	(void)loop, (void)fd;
	if (events & (LOOP_ERR | LOOP_HUP)) {
		loop_remove(steal_ptr(&vm->serial.in_watch));
		return;
	}
	(void)loop_set_events(vm->serial.in_watch, 0, &ignored);
	if (vm->events.console_room)
		vm->events.console_room(vm->events.data);
}

/* Makes a pipe. `ours` is the index (0 or 1) of the end that this process uses itself. */
static int make_serial_pipe(int ours, int *own, int *theirs, struct error *err)
{
	int ends[2];

	if (fd_pipe(ends, err) < 0)
		return -1;
	*own = ends[ours];
	*theirs = ends[!ours];
	return fd_nonblock(*own, true, err);
}

int serial_open(struct vm *vm, struct plan *plan, struct error *err)
{
	struct serial *serial = &vm->serial;

	if (make_serial_pipe(1, &serial->in, &plan->serial_in, err) < 0 ||
	    make_serial_pipe(0, &serial->out, &plan->serial_out, err) < 0)
		return -1;
	serial->in_watch = loop_add_fd(vm->loop, serial->in, 0, on_serial_in, vm, err);
	if (!serial->in_watch)
		return -1;
	serial->out_watch = loop_add_fd(vm->loop, serial->out, LOOP_IN, on_serial_out, vm, err);
	return serial->out_watch ? 0 : -1;
}

size_t applevf_console(struct vm *vm, const uint8_t *bytes, size_t len)
{
	struct error ignored;
	ssize_t n;

	if (!vm->serial.in_watch)
		return len; /* the bytes count as written, since the guest reads no more */
	n = write(vm->serial.in, bytes, len);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return len;
	if (n < (ssize_t)len)
		(void)loop_set_events(vm->serial.in_watch, LOOP_OUT, &ignored);
	return n > 0 ? (size_t)n : 0;
}

void serial_close_input(struct vm *vm)
{
	loop_remove(steal_ptr(&vm->serial.in_watch));
	cleanup_close(&vm->serial.in);
	vm->serial.in = -1;
}

void serial_close(struct vm *vm)
{
	serial_close_input(vm);
	loop_remove(steal_ptr(&vm->serial.out_watch));
	cleanup_close(&vm->serial.out);
	vm->serial.out = -1;
}
