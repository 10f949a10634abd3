/* SPDX-License-Identifier: MIT */
/*
 * Freezes a guest's file system while its disk is copied. The helper, microagent's program for
 * files in the guest (guest/files), freezes the file system, and keeps it frozen until its stdin is
 * closed. So a separate thread waits for the helper while this thread copies the disk.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "api/stream.h"
#include "api/transfer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

#define HELPER "microagent-files"
#define NOTES_BYTES 65536

/* The parameters of the thread that runs the helper as a command in the guest. */
struct call {
	const struct transfer *transfer;
	const char *const *command;
	int in, out; /* the helper's stdin and stdout, each an end of a pipe */
	int notes;   /* a file that receives the helper's stderr */
	struct microagent_outcome outcome;
};

/* Sets an error from the helper's stderr: the first line is an error code, and the other lines are
 * the message. */
static int take_notes(const struct call *call, struct error *err)
{
	autobuf struct buf notes = BUF_INIT(NOTES_BYTES);
	const char *text, *line;
	char code[32] = "";

	if (call->outcome.start_error[0]) {
		error_set(
			err, ERR_UNSUPPORTED,
			"the guest agent cannot freeze the file system (%s), because it is older than this microagent",
			call->outcome.start_error);
		return error_reason(err, REASON_GUEST_OLD, call->transfer->ws->id);
	}
	if (lseek(call->notes, 0, SEEK_SET) < 0 || fd_read_to_end(call->notes, &notes, NULL) < 0)
		return error_set(
			err, ERR_IO,
			"the guest did not freeze its file system and gave no reason: try again");
	text = buf_string(&notes);
	line = text ? strchr(text, '\n') : NULL;
	if (!line || (size_t)(line - text) >= sizeof(code))
		return error_set(
			err, ERR_IO,
			"the guest did not freeze its file system and gave no reason: try again");
	memcpy(code, text, (size_t)(line - text));
	return error_set(err, error_code_from_name(code), "%s", line + 1);
}

struct freezing {
	struct call call;
	int status;
	struct error error;
};

static void *freeze(void *data)
{
	struct freezing *f = data;
	struct call *call = &f->call;
	const struct microagent_streams streams = {
		.in = call->in, .out = call->out, .err = call->notes, .cancel = -1};
	const struct microagent_exec exec = {.command = call->command,
					     .user = call->transfer->user};

	f->status = stream_exec(call->transfer->ws, &exec, &streams, &call->outcome, &f->error);
	close(call->in);
	close(call->out);
	return NULL;
}

int transfer_frozen(const struct transfer *transfer, const char *path,
		    int (*work)(void *data, struct error *err), void *data, struct error *err)
{
	const char *const command[] = {HELPER, "freeze", path, NULL};
	autoclose int notes = fd_memfd("notes", "", 0, err);
	int told[2], said[2], status;
	struct freezing f = {0};
	uint64_t deadline;
	char word[7];
	pthread_t thread;

	if (notes < 0 || fd_pipe(told, err) < 0)
		return -1;
	if (fd_pipe(said, err) < 0) {
		close(told[0]);
		close(told[1]);
		return -1;
	}
	autoclose int tell = told[1], hear = said[0];
	f.call = (struct call){transfer, command, told[0], said[1], notes, {0}};
	status = pthread_create(&thread, NULL, freeze, &f);
	if (status != 0) {
		close(told[0]);
		close(said[1]);
		return error_errno(err, status, "thread");
	}
	/* The pipe becomes readable when the helper has frozen the file system, and also when the
	 * helper has exited without freezing it. */
	deadline = limit_deadline(LIMIT_FREEZE_MS);
	if (fd_wait(hear, POLLIN, deadline, err) < 0)
		status = error_prefix(err, "the guest did not freeze its file system");
	else
		status = fd_read_exact(hear, word, sizeof(word), err);
	if (status == 0)
		status = work(data, err);
	close(steal_fd(&tell)); /* the helper thaws the file system when its stdin is closed */
	pthread_join(thread, NULL);
	if (f.status < 0)
		return error_copy(err, &f.error);
	if (f.call.outcome.end == MICROAGENT_EXITED && f.call.outcome.exit_code != 0)
		return take_notes(&f.call, err);
	return status;
}
