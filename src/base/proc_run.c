/* SPDX-License-Identifier: MIT */
/* Runs a program until it exits, and returns its output. If the program fails, the error has the
 * program's own message. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/descriptor.h"
#include "base/proc.h"

#define STDERR_KEPT 512
#define CHUNK 16384

enum { FROM_STDOUT, FROM_STDERR, FROM_PIDFD, SOURCES };

struct run {
	struct proc proc;
	struct pollfd sources[SOURCES]; /* stdout, stderr and the pidfd of the program; the fd is -1
					 * after the end of a source */
	struct buf *out;		/* where the program's stdout is stored; NULL: stdout is not
					 * wanted */
	struct buf last;		/* the last part of stderr */
	int userns_fd;			/* the user namespace that the program enters, as userns_fd
					 * of struct proc_spec; 0: no namespace */
};

static void close_source(struct run *r, int which)
{
	if (r->sources[which].fd >= 0)
		close(r->sources[which].fd);
	r->sources[which].fd = -1;
}

/* Reads once. Returns 1 if another read may return something, 0 if nothing can be read at present
 * or the source has ended, -1 on failure. */
static int pump_child(struct run *r, int which, struct error *err)
{
	char chunk[CHUNK];
	ssize_t n;

	if (r->sources[which].fd < 0)
		return 0;
	n = read(r->sources[which].fd, chunk, sizeof(chunk));
	if (n < 0 && errno == EINTR)
		return 1;
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n < 0)
		return error_errno(err, errno, "read");
	if (n == 0) {
		close_source(r, which);
		return 0;
	}
	if (buf_append(which == FROM_STDOUT ? r->out : &r->last, chunk, (size_t)n, err) < 0)
		return -1;
	if (which == FROM_STDERR && r->last.len > STDERR_KEPT)
		buf_consume(&r->last, r->last.len - STDERR_KEPT);
	return 1;
}

/*
 * Reads until the process exits, even if a child of the process still has the pipes open. Also
 * reads the bytes that are in the pipes at that time (at most 64 KiB each). Ignores later output.
 */
static int collect_output(struct run *r, uint64_t deadline_ns, struct error *err)
{
	bool ended = false;

	while (!ended) {
		int n = descriptor_poll(r->sources, SOURCES, deadline_ns);

		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (n == 0)
			return error_set(err, ERR_TIMEOUT, "the deadline passed");
		for (int i = 0; n < 0 && i < SOURCES; i++)
			r->sources[i].revents = 0;
		ended = r->sources[FROM_PIDFD].revents != 0;
		for (int i = FROM_STDOUT; i <= FROM_STDERR; i++) {
			int reads = ended ? 65536 / CHUNK + 1 : r->sources[i].revents != 0;
			int more = 1;

			while (more > 0 && reads-- > 0)
				more = pump_child(r, i, err);
			if (more < 0)
				return -1;
		}
	}
	return 0;
}

static int start_child(struct run *r, const char *const *argv, struct error *err)
{
	int out[2] = {-1, -1}, errors[2];

	if (r->out && fd_pipe(out, err) < 0)
		return -1;
	autoclose int out_write = out[1];
	r->sources[FROM_STDOUT].fd = out[0];
	if (fd_pipe(errors, err) < 0)
		return -1;
	autoclose int errors_write = errors[1];
	r->sources[FROM_STDERR].fd = errors[0];
	if ((r->out && fd_nonblock(out[0], true, err) < 0) || fd_nonblock(errors[0], true, err) < 0)
		return -1;
	struct proc_fd fds[] = {{errors_write, 2}, {out_write, 1}};
	struct proc_spec spec = {
		.argv = argv, .fds = fds, .nfds = r->out ? 2 : 1, .userns_fd = r->userns_fd};
	if (proc_spawn(&spec, &r->proc, err) < 0)
		return -1;
	r->sources[FROM_PIDFD].fd = r->proc.pidfd;
	return 0;
}

/* Returns the contents as one line, for an error: removes newlines and blanks at the end, and
 * replaces all other control characters by blanks. */
static const char *one_line(struct buf *b)
{
	const uint8_t *p = buf_bytes(b);

	while (b->len > 0 && (p[b->len - 1] == '\n' || p[b->len - 1] == ' '))
		b->len--;
	for (size_t i = 0; i < b->len; i++)
		if (b->data[b->start + i] < 0x20 || b->data[b->start + i] == 0x7f)
			b->data[b->start + i] = ' ';
	return buf_string(b);
}

int proc_run_in(int userns_fd, const char *const *argv, struct buf *out, uint64_t deadline_ns,
		struct error *err)
{
	struct run r = {.proc = PROC_NONE,
			.out = out,
			.last = BUF_INIT(STDERR_KEPT + CHUNK),
			.userns_fd = userns_fd};
	size_t before = out ? out->len : 0;
	const char *said;
	int rc, code;

	for (int i = 0; i < SOURCES; i++)
		r.sources[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	rc = start_child(&r, argv, err);
	if (rc == 0) {
		rc = collect_output(&r, deadline_ns, err);
		if (rc == 0)
			rc = proc_wait(&r.proc, UINT64_MAX, &code, err);
		if (rc == 0 && code != 0) {
			said = one_line(&r.last);
			rc = error_set(err, ERR_IO, "exit code %d%s%s", code, *said ? ": " : "",
				       said);
		}
		if (rc < 0)
			error_prefix(err, "%s", argv[0]);
	}
	proc_end(&r.proc);
	close_source(&r, FROM_STDOUT);
	close_source(&r, FROM_STDERR);
	buf_free(&r.last);
	if (rc < 0 && out)
		out->len = before;
	return rc;
}

int proc_run(const char *const *argv, struct buf *out, uint64_t deadline_ns, struct error *err)
{
	return proc_run_in(0, argv, out, deadline_ns, err);
}
