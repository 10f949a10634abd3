/* SPDX-License-Identifier: MIT */
/*
 * The serial console, which consists of two pipes: Firecracker's stdin and stdout. Firecracker
 * reads stdin only if stdin is a terminal or a FIFO. If the pipe of stdout is full, Firecracker
 * does not wait, and the output is lost. So this pipe is larger than usual. Firecracker writes its
 * own log to stdout until it is told to write the log elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backend/firecracker/firecracker.h"
#include "base/cleanup.h"
#include "base/fd.h"

#define PIPE_BYTES (1 << 18)

/* Reads stdout once. Returns false if there are no bytes now, or if no more bytes will come. */
static bool receive_stdout(struct firecracker *fc)
{
	uint8_t bytes[16384];
	ssize_t n = read(fc->stdout_fd, bytes, sizeof(bytes));

	if (n > 0 && fc->started)
		fc->vm.events.serial(fc->vm.events.data, bytes, (size_t)n);
	else if (n > 0)
		stderr_log_take(&fc->early, (const char *)bytes, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		loop_remove(steal_ptr(&fc->stdout_watch));
	return n > 0;
}

static void on_stdout(struct loop *loop, int fd, uint32_t events, void *data)
{
	(void)loop, (void)fd, (void)events;
	receive_stdout(data);
}

/* Reads the output that is still in the pipe, at most as many bytes as the pipe can have. */
void fc_serial_drain(struct firecracker *fc)
{
	for (int i = 0; i < PIPE_BYTES / 4096 && fc->stdout_watch; i++)
		if (!receive_stdout(fc))
			break;
}

static void on_stdin(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct firecracker *fc = data;
	struct error ignored;

	(void)loop, (void)fd;
	if (events & (LOOP_ERR | LOOP_HUP)) {
		loop_remove(steal_ptr(&fc->stdin_watch));
		return;
	}
	(void)loop_set_events(fc->stdin_watch, 0, &ignored);
	if (fc->vm.events.console_room)
		fc->vm.events.console_room(fc->vm.events.data);
}

static int make_pipe(int *ours, int *theirs, bool we_write, struct error *err)
{
	int ends[2];

	if (fd_pipe(ends, err) < 0)
		return -1;
	*ours = ends[we_write];
	*theirs = ends[!we_write];
	/* F_SETPIPE_SZ fails if the host does not allow a pipe of this size. Then the pipe keeps
	 * its usual size. */
	(void)fcntl(*ours, F_SETPIPE_SZ, PIPE_BYTES);
	return fd_nonblock(*ours, true, err);
}

int fc_serial_open(struct firecracker *fc, struct fc_ends *ends, struct error *err)
{
	if (make_pipe(&fc->stdin_fd, &ends->in, true, err) < 0 ||
	    make_pipe(&fc->stdout_fd, &ends->out, false, err) < 0)
		return -1;
	fc->stdin_watch = loop_add_fd(fc->vm.loop, fc->stdin_fd, 0, on_stdin, fc, err);
	if (!fc->stdin_watch)
		return -1;
	fc->stdout_watch = loop_add_fd(fc->vm.loop, fc->stdout_fd, LOOP_IN, on_stdout, fc, err);
	return fc->stdout_watch ? 0 : -1;
}

size_t fc_console(struct vm *vm, const uint8_t *bytes, size_t len)
{
	struct firecracker *fc = fc_of(vm);
	struct error ignored;
	ssize_t n;

	if (!fc->stdin_watch)
		return len; /* Firecracker has closed the console, so no guest can read the bytes */
	n = write(fc->stdin_fd, bytes, len);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return len;
	if (n < (ssize_t)len)
		(void)loop_set_events(fc->stdin_watch, LOOP_OUT, &ignored);
	return n > 0 ? (size_t)n : 0;
}
