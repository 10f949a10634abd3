/* SPDX-License-Identifier: MIT */
/*
 * Decodes requests to the agent. The functions are pure: they turn bytes into a struct. There are
 * two wire forms, which the first byte of a connection tells apart. Both forms give the same
 * struct.
 *
 * A message that is not JSON, or has no op or no request number, breaks the protocol: decoding
 * fails, and the connection ends. A request that asks for something wrong is decoded, and `problem`
 * says what is wrong. Such a request is answered like a command that could not be started. Unknown
 * keys are ignored.
 */
#ifndef GUEST_REQUEST_H
#define GUEST_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "guest/container/contained.h"
#include "guest/job/rlimits.h"

enum request_kind {
	REQUEST_EXEC,	 /* this kind exists in both forms */
	REQUEST_COPYOUT, /* this kind and the next five exist only in the envelope form */
	REQUEST_WRITE,
	REQUEST_LIST,
	REQUEST_STAT,
	REQUEST_PTY,
	REQUEST_UNKNOWN_OP,
	REQUEST_ATTACH, /* this kind and the next seven exist only in the frame form */
	REQUEST_SIGNAL,
	REQUEST_RESIZE,
	REQUEST_STDIN_CLOSE,
	REQUEST_CANCEL,
	REQUEST_ACK,
	REQUEST_RELEASE,
	REQUEST_START, /* starts a container that was made and waits in the state HELD */
	REQUEST_KIND_COUNT
};

#define REQUEST_ID_MAX 1024
#define REQUEST_PROBLEM_MAX 400
#define REQUEST_EXEC_MAX 64
#define REQUEST_STREAMS 2 /* the number of output streams: stdout and stderr */

/* The word that names the run config's command where an exec's id may stand. */
#define EXEC_WORKLOAD "workload"

/* A decoded request. Its strings belong to doc, unless a member says otherwise. */
struct request {
	json_t *doc;
	enum request_kind kind;
	/* What is wrong with the request; "": nothing is wrong. */
	char problem[REQUEST_PROBLEM_MAX];

	const char *op; /* the request's op, if its kind is UNKNOWN_OP */
	const char *id; /* the id of an EXEC in the frame form */
	/* The number of this request. For an event it is the number of the request that the event
	 * is about. 0: the message has no number. */
	uint64_t number;

	const char *exec; /* the exec's id, for ATTACH and EXEC; NULL: the client gave no id */
	/* For EXEC: the time in milliseconds that the command may live without a client. 0: the
	 * command ends when its client is gone. */
	uint64_t grace_ms;
	/* For ATTACH and ACK: the offset in each output stream. */
	uint64_t offsets[REQUEST_STREAMS];

	/* The members below are for EXEC, unless they say otherwise. Of these ATTACH uses only
	 * stdin_window and terminal. */
	/* The words of the command, an array that ends with NULL and that request_free() frees. */
	const char **argv;
	json_t *env; /* the environment, which was checked; NULL: the request has none */
	const char *cwd, *user;
	uint64_t timeout_ms; /* the time limit of the command in milliseconds; 0: no limit */
	struct rlimits rlimits;
	bool stream;
	bool stdin_open;
	bool stdin_window; /* the client respects the window for stdin; this is also for ATTACH */
	bool hand_over;	   /* the connection becomes the command's stdin and stdout */
	/* For EXEC without a stream: the whole stdin. For WRITE: the contents of the file. */
	struct buf stdin_bytes;
	bool terminal;
	uint16_t rows, columns; /* the size of the terminal in characters, also for RESIZE */

	/* For EXEC: the container to run in, or to make; NULL: the command runs in no container. */
	struct contained *contained;
	const char *guest_path; /* the file's path, for COPYOUT, WRITE, LIST and STAT */
	int signal;		/* the number of the signal, for SIGNAL */
};

/* Decodes the envelope form: {"op":S,"payload":{...}}. */
int request_decode_envelope(const void *text, size_t len, struct request *out, struct error *err);
/* Decodes the payload of a frame that begins with '{'. */
int request_decode_frame(const void *text, size_t len, struct request *out, struct error *err);
/* Decodes the workload of a run config: the keys command, cwd, user and timeoutSeconds, which have
 * the same meaning as in a request. The key env is not decoded here, since it holds for every
 * command of the guest. *out gets its own reference to `config`. */
int request_decode_workload(json_t *config, struct request *out, struct error *err);
void request_free(struct request *request); /* accepts a struct whose members are all 0 */

/*
 * The state of envelope_scan(), which finds the end of one JSON value in the stream of the envelope
 * form. Between two values there is a newline, or nothing. Each call looks only at new bytes, and
 * goes on where the last call has stopped.
 */
struct envelope_scan {
	size_t at; /* the number of bytes that were looked at */
	size_t depth;
	bool in_string, escaped;
};
/* Returns the number of bytes of the first complete value, including the white space before it.
 * Returns 0 if more bytes are needed. */
size_t envelope_scan(struct envelope_scan *scan, const uint8_t *bytes, size_t len);

#endif
