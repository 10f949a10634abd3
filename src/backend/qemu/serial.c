/* SPDX-License-Identifier: MIT */
/*
 * The two consoles of a machine. Each console is a socket pair. QEMU's UART (ttyS0) or QEMU's
 * virtio console (hvc0) has one end, and this process has the other. The guest's output on both
 * consoles goes to one callback. Input usually answers what a person has seen, so it goes to the
 * console that has written last. A line of input goes to one console as a whole, even if the kernel
 * writes to ttyS0 before the line is complete. QEMU takes input only as fast as the guest reads it.
 * The caller keeps bytes that the socket does not take.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/qemu/qemu.h"
#include "base/cleanup.h"
#include "base/fd.h"

/* Reads a console once. Returns false if there are no bytes now, or if no more bytes will come. */
static bool receive_serial(struct qemu *qemu, bool hvc)
{
	struct loop_watch **watch = hvc ? &qemu->console_watch : &qemu->serial_watch;
	uint8_t bytes[16384];
	ssize_t n = read(hvc ? qemu->console_fd : qemu->serial_fd, bytes, sizeof(bytes));

	if (n > 0) {
		qemu->hvc_spoke = hvc;
		qemu->vm.events.serial(qemu->vm.events.data, bytes, (size_t)n);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		loop_remove(steal_ptr(watch));
	return false;
}

static void on_console_line(struct qemu *qemu, bool hvc, uint32_t events)
{
	struct loop_watch **watch = hvc ? &qemu->console_watch : &qemu->serial_watch;
	struct error ignored;

	if (events & LOOP_OUT) {
		(void)loop_set_events(*watch, LOOP_IN, &ignored);
		if (qemu->vm.events.console_room)
			qemu->vm.events.console_room(qemu->vm.events.data);
	}
	if (*watch && events & (LOOP_IN | LOOP_HUP | LOOP_ERR))
		receive_serial(qemu, hvc);
}

static void on_serial_bytes(struct loop *loop, int fd, uint32_t events, void *data)
{
	(void)loop, (void)fd;
	on_console_line(data, false, events);
}

static void on_hvc(struct loop *loop, int fd, uint32_t events, void *data)
{
	(void)loop, (void)fd;
	on_console_line(data, true, events);
}

static int open_line(struct qemu *qemu, loop_fd_fn *fn, int *ours, struct loop_watch **watch,
		     int *theirs, struct error *err)
{
	int pair[2];

	if (fd_socketpair(pair, err) < 0)
		return -1;
	*ours = pair[0];
	*theirs = pair[1];
	if (fd_nonblock(*ours, true, err) < 0)
		return -1;
	*watch = loop_add_fd(qemu->vm.loop, *ours, LOOP_IN, fn, qemu, err);
	return *watch ? 0 : -1;
}

int qemu_open_serial(struct qemu *qemu, int *serial, int *console, struct error *err)
{
	if (open_line(qemu, on_serial_bytes, &qemu->serial_fd, &qemu->serial_watch, serial, err) <
	    0)
		return -1;
	return open_line(qemu, on_hvc, &qemu->console_fd, &qemu->console_watch, console, err);
}

/* Reads the output that QEMU had written before it ended. The number of reads is limited. */
void qemu_serial_drain(struct qemu *qemu)
{
	for (int i = 0; i < 64 && qemu->serial_watch; i++)
		if (!receive_serial(qemu, false))
			break;
	for (int i = 0; i < 64 && qemu->console_watch; i++)
		if (!receive_serial(qemu, true))
			break;
}

/* Returns true if the byte ends a line of input: Return, Ctrl-C or Ctrl-D. */
static bool ends_line(uint8_t byte)
{
	return byte == '\r' || byte == '\n' || byte == 3 || byte == 4;
}

size_t qemu_console(struct vm *vm, const uint8_t *bytes, size_t len)
{
	struct qemu *qemu = qemu_of(vm);
	bool hvc = qemu->in_line ? qemu->hvc_typed : qemu->hvc_spoke;
	struct loop_watch *watch = hvc ? qemu->console_watch : qemu->serial_watch;
	struct error ignored;
	ssize_t n;

	if (!watch)
		return len; /* QEMU has closed the console, so no guest can read the bytes */
	n = send(hvc ? qemu->console_fd : qemu->serial_fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return len;
	if (n < (ssize_t)len)
		(void)loop_set_events(watch, LOOP_IN | LOOP_OUT, &ignored);
	if (n <= 0)
		return 0;
	qemu->hvc_typed = hvc;
	qemu->in_line = !ends_line(bytes[n - 1]);
	return (size_t)n;
}
