/* SPDX-License-Identifier: MIT */
#include "backend/parts/stderr_log.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static void end_line(struct stderr_log *s)
{
	if (s->len == 0)
		return;
	memcpy(s->last, s->line, s->len);
	s->last[s->len] = '\0';
	s->len = 0;
	if (s->log)
		log_limited(s->log, "%s: %s", s->name, s->last);
}

void stderr_log_take(struct stderr_log *s, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || s->len == sizeof(s->line) - 1)
			end_line(s);
		if (bytes[i] != '\n')
			s->line[s->len++] = bytes[i];
	}
}

/* Reads the pipe once. Returns false if there are no bytes now, or if no more bytes will come. */
static bool receive_stderr(struct stderr_log *s)
{
	char bytes[4096];
	ssize_t n = read(s->fd, bytes, sizeof(bytes));

	if (n > 0) {
		stderr_log_take(s, bytes, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	end_line(s);
	loop_remove(steal_ptr(&s->watch));
	return false;
}

static void on_bytes(struct loop *loop, int fd, uint32_t events, void *data)
{
	(void)loop, (void)fd, (void)events;
	receive_stderr(data);
}

void stderr_log_drain(struct stderr_log *s)
{
	/* The writer has ended, so only bytes that are already in the pipe can come. The number of
	 * reads is still limited. */
	for (int i = 0; i < 256 && s->fd >= 0 && receive_stderr(s); i++)
		;
}

int stderr_log_adopt(struct stderr_log *s, struct loop *loop, const char *name, struct log *log,
		     int fd, struct error *err)
{
	*s = (struct stderr_log){.log = log, .name = name, .fd = fd};
	s->watch = loop_add_fd(loop, fd, LOOP_IN, on_bytes, s, err);
	return s->watch ? 0 : -1;
}

int stderr_log_open(struct stderr_log *s, struct loop *loop, const char *name, struct log *log,
		    int *write_end, struct error *err)
{
	int ends[2];

	if (fd_pipe(ends, err) < 0)
		return -1;
	*s = (struct stderr_log){.log = log, .name = name, .fd = ends[0]};
	*write_end = ends[1];
	if (fd_nonblock(s->fd, true, err) < 0)
		return -1;
	return stderr_log_adopt(s, loop, name, log, ends[0], err);
}

void stderr_log_close(struct stderr_log *s)
{
	loop_remove(steal_ptr(&s->watch));
	cleanup_close(&s->fd);
	s->fd = -1;
}
