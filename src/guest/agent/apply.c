/* SPDX-License-Identifier: MIT */
#include "guest/agent/apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/proc.h"

struct apply {
	struct proc proc;
	/* The read end of a pipe from the child. The child writes the text of an error into the
	 * pipe, or nothing on success. The end of file means that the child has finished. */
	int pipe;
	struct loop_watch *watch;
	struct buf text;
	void (*done)(void *data, const char *error);
	void *data;
};

static void on_text(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct apply *apply = data;
	char chunk[1024];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	(void)loop;
	(void)events;
	if (n > 0 && buf_append(&apply->text, chunk, (size_t)n, NULL) == 0)
		return;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	loop_remove(steal_ptr(&apply->watch));
	apply->done(apply->data, apply->text.len ? buf_string(&apply->text) : NULL);
}

struct apply *apply_start(struct loop *loop, int (*work)(json_t *arg, struct error *err),
			  json_t *arg, void (*done)(void *data, const char *error), void *data,
			  struct error *err)
{
	struct apply *apply = calloc(1, sizeof(*apply));
	int ends[2];

	if (!apply || fd_pipe(ends, err) < 0) {
		free(apply);
		return NULL;
	}
	*apply = (struct apply){.proc = PROC_NONE,
				.pipe = ends[0],
				.done = done,
				.data = data,
				.text = BUF_INIT(4096)};
	apply->watch = loop_add_fd(loop, apply->pipe, LOOP_IN, on_text, apply, err);
	pid_t pid = apply->watch ? fork() : -1;
	if (pid == 0) {
		struct error why = {0};

		if (work(arg, &why) < 0)
			fd_write_all(ends[1], why.msg, strlen(why.msg), NULL);
		_exit(0);
	}
	close(ends[1]);
	if (pid < 0) {
		error_errno(err, errno, "cannot start a process");
		apply_free(apply);
		return NULL;
	}
	apply->proc.pid = pid;
	apply->proc.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return apply;
}

void apply_free(struct apply *apply)
{
	if (!apply)
		return;
	loop_remove(apply->watch);
	close(apply->pipe);
	proc_end(&apply->proc);
	buf_free(&apply->text);
	free(apply);
}
