/* SPDX-License-Identifier: MIT */
/*
 * The stream of files is made or taken apart by a thread of its own, while the caller's moves the
 * bytes: both block, and neither knows of the other but for a pipe.
 */
#include "api/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"

#define HELPER "microagent-files"
#define NOTES_BYTES 65536

/* One run of the helper. */
struct call {
	const struct transfer *transfer;
	const char *const *command;
	int in, out; /* ends of the helper's streams; -1: none */
	int notes;   /* its stderr */
	struct microagent_outcome outcome;
};

static int run_call(struct call *call, struct error *err)
{
	const struct microagent_streams streams = {
		.in = call->in, .out = call->out, .err = call->notes, .cancel = -1};
	const struct agent_exec exec = {.command = call->command,
					.user = call->transfer->user,
					.stdin_open = call->in >= 0};
	struct agent_stream stream = {0};
	int status = agent_stream_exec(&stream, &exec, err);

	if (status == 0)
		status = stream_run(call->transfer->ws, &stream, &streams, NULL, false,
				    &call->outcome, err);
	agent_stream_free(&stream);
	return status;
}

/* What the helper said on stderr: a code and a text. */
static int take_notes(const struct call *call, struct error *err)
{
	autobuf struct buf notes = BUF_INIT(NOTES_BYTES);
	const char *text, *line;
	char code[32] = "";

	if (call->outcome.start_error[0])
		return error_set(err, ERR_UNSUPPORTED,
				 "%s: the guest's software is too old for it; start the workspace "
				 "anew with --prepare",
				 call->outcome.start_error);
	if (lseek(call->notes, 0, SEEK_SET) < 0 || fd_read_to_end(call->notes, &notes, NULL) < 0)
		return error_set(err, ERR_IO, "the guest's helper failed");
	text = buf_string(&notes);
	line = text ? strchr(text, '\n') : NULL;
	if (!line || (size_t)(line - text) >= sizeof(code))
		return error_set(err, ERR_IO, "the guest's helper failed");
	memcpy(code, text, (size_t)(line - text));
	return error_set(err, error_code_from_name(code), "%s", line + 1);
}

static bool has_failed(const struct call *call)
{
	return call->outcome.end == MICROAGENT_EXITED && call->outcome.exit_code != 0;
}

/* --- out ---------------------------------------------------------------------------------------- */

struct receiving {
	int from;
	const struct tree_target *target;
	const struct microagent_copy *options;
	int status;
	struct error error;
};

static void tell_skipped(void *data, const char *path, const char *why)
{
	const struct microagent_copy *options = data;

	if (options && options->skipped)
		options->skipped(options->data, path, why);
}

static void *receive(void *data)
{
	struct receiving *r = data;
	const struct tree_receiver receiver = {.skipped = tell_skipped,
					       .data = (void *)(uintptr_t)r->options,
					       .links_stay_inside = true};

	r->status = tree_receive(r->from, r->target, &receiver, &r->error);
	/* Nobody reads any more: the stream ends. */
	close(r->from);
	return NULL;
}

/* The sender's own failure is told in both ways; else the first that is not the other's echo. */
static int conclude(const struct call *call, int status, const struct error *stream_error,
		    const struct receiving *r, struct error *err)
{
	if (status < 0) {
		*err = *stream_error;
		return -1;
	}
	if (has_failed(call))
		return take_notes(call, err);
	if (r->status < 0) {
		*err = r->error;
		return -1;
	}
	return 0;
}

int transfer_out(const struct transfer *transfer, const char *path,
		 const struct tree_target *target, struct error *err)
{
	const char *const command[] = {HELPER, "send", transfer->root, path, NULL};
	struct receiving r = {.target = target, .options = transfer->options};
	autoclose int notes = fd_memfd("notes", "", 0, err);
	struct error why = {0};
	pthread_t thread;
	int pipe[2], status;

	if (notes < 0 || fd_pipe(pipe, err) < 0)
		return -1;
	r.from = pipe[0];
	status = pthread_create(&thread, NULL, receive, &r);
	if (status != 0) {
		close(pipe[0]);
		close(pipe[1]);
		return error_errno(err, status, "thread");
	}
	struct call call = {transfer, command, -1, pipe[1], notes, {0}};

	status = run_call(&call, &why);
	close(pipe[1]);
	pthread_join(thread, NULL);
	return conclude(&call, status, &why, &r, err);
}

/* --- in ----------------------------------------------------------------------------------------- */

struct sending {
	int to;
	const char *path;
	int status;
	struct error error;
};

static void *send_files(void *data)
{
	struct sending *s = data;

	s->status = tree_send(AT_FDCWD, s->path, false, s->to, &s->error);
	close(s->to);
	return NULL;
}

/* What the guest left out, a line each: "path: why". */
static void tell_lines(const struct transfer *transfer, int fd)
{
	autobuf struct buf text = BUF_INIT(NOTES_BYTES);
	char *rest = NULL, *copy;

	if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_to_end(fd, &text, NULL) < 0)
		return;
	copy = buf_steal_string(&text, NULL);
	for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *why = strstr(line, ": ");

		if (why)
			*why = '\0';
		tell_skipped((void *)(uintptr_t)transfer->options, line, why ? why + 2 : "");
	}
	free(copy);
}

int transfer_in(const struct transfer *transfer, const char *from, const char *path,
		const char *name, struct error *err)
{
	const char *const command[] = {HELPER, "receive", transfer->root, path, name, NULL};
	struct sending s = {.path = from};
	autoclose int notes = fd_memfd("notes", "", 0, err);
	autoclose int said = fd_memfd("skipped", "", 0, err);
	struct error why = {0};
	pthread_t thread;
	int pipe[2], status;

	if (notes < 0 || said < 0 || fd_pipe(pipe, err) < 0)
		return -1;
	s.to = pipe[1];
	status = pthread_create(&thread, NULL, send_files, &s);
	if (status != 0) {
		close(pipe[0]);
		close(pipe[1]);
		return error_errno(err, status, "thread");
	}
	struct call call = {transfer, command, pipe[0], said, notes, {0}};

	status = run_call(&call, &why);
	close(pipe[0]);
	pthread_join(thread, NULL);
	if (status < 0) {
		*err = why;
		return -1;
	}
	/* Of a file of ours that cannot be read both tell; our own words name it as the user did. */
	if (s.status < 0 && s.error.errnum != EPIPE) {
		*err = s.error;
		return -1;
	}
	if (has_failed(&call))
		return take_notes(&call, err);
	tell_lines(transfer, said);
	return 0;
}

/* --- frozen ------------------------------------------------------------------------------------- */

struct freezing {
	struct call call;
	int status;
	struct error error;
};

static void *freeze(void *data)
{
	struct freezing *f = data;

	f->status = run_call(&f->call, &f->error);
	close(f->call.in);
	close(f->call.out);
	return NULL;
}

/* The helper's word, or its end. */
static int wait_frozen(int said, struct error *err)
{
	uint64_t deadline = clock_mono_ns() + limit_get(LIMIT_FREEZE_MS) * NS_PER_MS;
	char word[7];

	if (fd_wait(said, POLLIN, deadline, err) < 0)
		return error_prefix(err, "the guest did not freeze its file system");
	return fd_read_exact(said, word, sizeof(word), err);
}

int transfer_frozen(const struct transfer *transfer, const char *path,
		    int (*work)(void *data, struct error *err), void *data, struct error *err)
{
	const char *const command[] = {HELPER, "freeze", path, NULL};
	autoclose int notes = fd_memfd("notes", "", 0, err);
	int told[2], said[2], status;
	struct freezing f = {0};
	pthread_t thread;

	if (notes < 0 || fd_pipe(told, err) < 0 || fd_pipe(said, err) < 0)
		return -1;
	autoclose int tell = told[1], hear = said[0];
	f.call = (struct call){transfer, command, told[0], said[1], notes, {0}};
	status = pthread_create(&thread, NULL, freeze, &f);
	if (status != 0) {
		close(told[0]);
		close(said[1]);
		return error_errno(err, status, "thread");
	}
	status = wait_frozen(hear, err);
	if (status == 0)
		status = work(data, err);
	close(steal_fd(&tell)); /* thaws */
	pthread_join(thread, NULL);
	if (f.status < 0) {
		*err = f.error;
		return -1;
	}
	return has_failed(&f.call) ? take_notes(&f.call, err) : status;
}
