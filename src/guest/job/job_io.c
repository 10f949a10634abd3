/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "guest/job/job_impl.h"
#include "guest/job/linger.h"
#include "guest/job/pty.h"

/* How many times one stream is read without a break. After that, other file descriptors are
 * handled. */
#define READS_PER_TURN 8
/* An upper limit for the bytes of output that a terminal can hold. The buffer from which the agent
 * reads has at most N_TTY_BUF_SIZE bytes. The kernel may have further bytes that it has not moved
 * to this buffer yet. FIONREAD does not count these further bytes (drivers/tty/tty_buffer.c). */
#define TERMINAL_HOLDS (128u << 10)

static int take_pipe(int ours_index, int *ours, int *theirs, struct error *err)
{
	int ends[2];

	if (fd_pipe(ends, err) < 0)
		return -1;
	*ours = ends[ours_index];
	*theirs = ends[1 - ours_index];
	return fd_nonblock(*ours, true, err);
}

int job_io_open(struct job *job, const struct job_spec *spec, struct child_ends *ends,
		struct error *err)
{
	struct pty pty;

	if (spec->terminal && !spec->inside) {
		if (pty_open(PTY_MULTIPLEXER, spec->rows, spec->columns,
			     spec->user ? spec->user->uid : geteuid(), &pty, err) < 0)
			return -1;
		job->out[JOB_STDOUT].fd = pty.master;
		ends->own[0] = pty.terminal;
		for (int i = 0; i < 3; i++)
			ends->fds[i] = pty.terminal;
		/* stdin_fd is a duplicate of the master, since the event loop can watch a file
		 * descriptor only once. */
		job->stdin_fd = fcntl(pty.master, F_DUPFD_CLOEXEC, 3);
		return job->stdin_fd < 0 ? error_errno(err, errno, "terminal") : 0;
	}
	ends->fds[0] = ends->fds[1] = ends->fds[2] = job->table->null_fd;
	if (spec->terminal)
		return 0; /* the child opens a terminal of its container later */
	if (spec->connection > 0) {
		ends->fds[0] = ends->fds[1] = spec->connection;
		return 0;
	}
	if (spec->stdin_open) {
		if (take_pipe(1, &job->stdin_fd, &ends->own[0], err) < 0)
			return -1;
		ends->fds[0] = ends->own[0];
	}
	for (int i = 0; i < JOB_STREAMS; i++) {
		if (take_pipe(0, &job->out[i].fd, &ends->own[1 + i], err) < 0)
			return -1;
		ends->fds[1 + i] = ends->own[1 + i];
	}
	return 0;
}

/* Closes the agent's copy of the child's end of stdin. With an open copy, the agent would not
 * notice that the command has closed its stdin. Keeps the other ends in job->held. If there is a
 * terminal, ends->own[0] is the terminal, and is kept too. */
void job_io_hold(struct job *job, struct child_ends *ends)
{
	if (!job->terminal)
		cleanup_close(&ends->own[0]);
	job->held[0] = ends->own[job->terminal ? 0 : 1];
	job->held[1] = ends->own[2];
}

/* Reads once from the stream. Returns false if the stream must not be read again at once. */
static bool read_once(struct job *job, enum job_stream stream)
{
	static uint8_t nowhere[65536];
	struct job_pipe *pipe = &job->out[stream];
	size_t room = sizeof(nowhere);
	uint8_t *space = nowhere;

	if (job->owner)
		space = job->owner->space(job->data, stream, &room);
	if (!space) {
		pipe->paused = true;
		loop_set_events(pipe->watch, 0, NULL);
		return false;
	}
	ssize_t n = read(pipe->fd, space, room);
	if (n > 0) {
		pipe->owed -= pipe->owed < (size_t)n ? pipe->owed : (size_t)n;
		if (job->owner)
			job->owner->output(job->data, stream, (size_t)n);
		return true;
	}
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN) {
		/* EAGAIN means that the kernel has moved all bytes to the reader's buffer and that
		 * the buffer is empty. So none of the bytes that `owed` counts is missing. */
		pipe->owed = 0;
		return false;
	}
	/* End of the stream. For a terminal, read() reports the end as EIO. */
	loop_remove(pipe->watch);
	close(pipe->fd);
	*pipe = (struct job_pipe){.fd = -1};
	return false;
}

void job_io_read(struct job *job, enum job_stream stream)
{
	for (int i = 0; i < READS_PER_TURN && job->out[stream].fd >= 0; i++)
		if (!read_once(job, stream))
			return;
}

static void on_job_output(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct job *job = data;
	enum job_stream stream = job->out[JOB_STDOUT].fd == fd ? JOB_STDOUT : JOB_STDERR;

	(void)loop;
	(void)events;
	job_io_read(job, stream);
	job_check_end(job);
}

int job_io_start(struct job *job, struct error *err)
{
	for (int i = 0; i < JOB_STREAMS; i++) {
		struct job_pipe *pipe = &job->out[i];

		if (pipe->fd < 0)
			continue;
		pipe->watch =
			loop_add_fd(job->table->loop, pipe->fd, LOOP_IN, on_job_output, job, err);
		if (!pipe->watch)
			return -1;
	}
	return 0;
}

void job_io_program_ended(struct job *job)
{
	for (int i = 0; i < JOB_STREAMS; i++) {
		int waiting = 0;

		if (job->out[i].fd < 0)
			continue;
		if (job->terminal)
			job->out[i].owed = TERMINAL_HOLDS;
		else if (ioctl(job->out[i].fd, FIONREAD, &waiting) == 0)
			job->out[i].owed = (size_t)waiting;
	}
}

void job_io_release(struct job *job)
{
	for (int i = 0; i < JOB_STREAMS; i++) {
		cleanup_close(&job->held[i]);
		job->held[i] = -1;
	}
}

bool job_io_finished(const struct job *job)
{
	for (int i = 0; i < JOB_STREAMS; i++)
		if (job->out[i].fd >= 0 && (!job->drain_over || job->out[i].owed > 0))
			return false;
	return true;
}

static void close_stdin(struct job *job)
{
	loop_remove(job->stdin_watch);
	job->stdin_watch = NULL;
	if (job->stdin_fd >= 0)
		close(job->stdin_fd);
	job->stdin_fd = -1;
}

void job_io_close(struct job *job)
{
	close_stdin(job);
	job_io_release(job);
	for (int i = 0; i < JOB_STREAMS; i++) {
		struct job_pipe *pipe = &job->out[i];
		int fd = pipe->fd;

		if (fd < 0)
			continue;
		loop_remove(pipe->watch);
		*pipe = (struct job_pipe){.fd = -1};
		if (job->terminal)
			close(fd); /* closes the terminal, so that its processes get SIGHUP */
		else
			linger_add(job->table, fd);
	}
}

void job_resume(struct job *job)
{
	for (int i = 0; i < JOB_STREAMS; i++) {
		struct job_pipe *pipe = &job->out[i];

		if (!pipe->paused)
			continue;
		pipe->paused = false;
		loop_set_events(pipe->watch, LOOP_IN, NULL);
	}
	if (job->terminal)
		job_look_again(job);
}

static void on_job_stdin_room(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct job *job = data;

	(void)loop;
	(void)fd;
	(void)events;
	loop_remove(job->stdin_watch);
	job->stdin_watch = NULL;
	if (job->owner)
		job->owner->stdin_room(job->data);
}

size_t job_write_stdin(struct job *job, const void *bytes, size_t len)
{
	size_t done = 0;

	while (job->stdin_fd >= 0 && done < len) {
		ssize_t n = write(job->stdin_fd, (const uint8_t *)bytes + done, len - done);

		if (n >= 0) {
			done += (size_t)n;
		} else if (errno == EAGAIN) {
			if (!job->stdin_watch)
				job->stdin_watch =
					loop_add_fd(job->table->loop, job->stdin_fd, LOOP_OUT,
						    on_job_stdin_room, job, NULL);
			if (job->stdin_watch)
				return done;
			close_stdin(job);
		} else if (errno != EINTR) {
			close_stdin(job);
		}
	}
	return len;
}

void job_close_stdin(struct job *job)
{
	struct termios t;

	if (!job->terminal) {
		close_stdin(job);
		return;
	}
	/* This write may fail if the terminal is full of bytes that no program reads. Such a
	 * failure does no harm, since no program would read the end-of-file character. */
	if (job->stdin_fd >= 0 && tcgetattr(job->stdin_fd, &t) == 0 && (t.c_lflag & ICANON))
		job_write_stdin(job, &t.c_cc[VEOF], 1);
}

void job_resize(struct job *job, uint16_t rows, uint16_t columns)
{
	if (job->terminal && job->out[JOB_STDOUT].fd >= 0)
		pty_resize(job->out[JOB_STDOUT].fd, rows, columns, NULL);
}
