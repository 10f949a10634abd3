/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "guest/job/job_impl.h"
#include "guest/job/linger.h"
#include "guest/job/pty.h"

/* Reads in a row before other descriptors get their turn. */
#define READS_PER_TURN 8

static void close_pipe(struct job_pipe *pipe)
{
	loop_remove(pipe->watch);
	close(pipe->fd);
	*pipe = (struct job_pipe){.fd = -1};
}

static uint8_t *owner_space(struct job *job, enum job_stream stream, size_t *room)
{
	static uint8_t nowhere[65536];

	if (job->owner)
		return job->owner->space(job->data, stream, room);
	*room = sizeof(nowhere);
	return nowhere;
}

static void pause_pipe(struct job_pipe *pipe)
{
	pipe->paused = true;
	loop_set_events(pipe->watch, 0, NULL);
}

/* One read. false: nothing more for now. */
static bool read_once(struct job *job, enum job_stream stream)
{
	struct job_pipe *pipe = &job->out[stream];
	size_t room = 0;
	uint8_t *space = owner_space(job, stream, &room);

	if (!space) {
		pause_pipe(pipe);
		return false;
	}
	ssize_t n = read(pipe->fd, space, room);
	if (n > 0) {
		pipe->owed -= pipe->owed < (size_t)n ? pipe->owed : (size_t)n;
		if (job->owner)
			job->owner->output(job->data, stream, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	close_pipe(pipe); /* the end; EIO is a terminal's */
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

		if (job->out[i].fd >= 0 && ioctl(job->out[i].fd, FIONREAD, &waiting) == 0)
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
			close(fd); /* hangs up, as a terminal does */
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

static void wait_for_stdin_room(struct job *job)
{
	if (job->stdin_watch)
		return;
	job->stdin_watch = loop_add_fd(job->table->loop, job->stdin_fd, LOOP_OUT, on_job_stdin_room,
				       job, NULL);
	if (!job->stdin_watch)
		close_stdin(job);
}

size_t job_write_stdin(struct job *job, const void *bytes, size_t len)
{
	size_t done = 0;

	while (job->stdin_fd >= 0 && done < len) {
		ssize_t n = write(job->stdin_fd, (const uint8_t *)bytes + done, len - done);

		if (n >= 0) {
			done += (size_t)n;
		} else if (errno == EAGAIN) {
			wait_for_stdin_room(job);
			if (job->stdin_fd >= 0)
				return done;
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
	/* Full of what nobody reads, the terminal would not have its end read either. */
	if (job->stdin_fd >= 0 && tcgetattr(job->stdin_fd, &t) == 0 && (t.c_lflag & ICANON))
		job_write_stdin(job, &t.c_cc[VEOF], 1);
}

void job_resize(struct job *job, uint16_t rows, uint16_t columns)
{
	if (job->terminal && job->out[JOB_STDOUT].fd >= 0)
		pty_resize(job->out[JOB_STDOUT].fd, rows, columns, NULL);
}
