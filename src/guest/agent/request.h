/* SPDX-License-Identifier: MIT */
/*
 * Decodes requests to the agent. The functions are pure: bytes in, struct out. There are two wire
 * forms, which a connection's first byte tells apart, and both result in the same struct.
 *
 * A message that is no JSON, or has no op or no request number, is a breach of the protocol: it
 * cannot be decoded, and the connection ends. A request that asks for something wrong is decoded,
 * and `problem` says what is wrong; it is answered like a command that could not be started.
 * Unknown keys are ignored.
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
	REQUEST_EXEC,	 /* in both forms */
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
	REQUEST_START, /* starts a container that was made and is held */
	REQUEST_KIND_COUNT
};

#define REQUEST_ID_MAX 1024
#define REQUEST_PROBLEM_MAX 400
#define REQUEST_EXEC_MAX 64
#define REQUEST_STREAMS 2 /* stdout, stderr */

#define EXEC_WORKLOAD "workload" /* the run config's command, in place of an exec's id */

/* A decoded request. Strings are borrowed from doc. */
struct request {
	json_t *doc;
	enum request_kind kind;
	char problem[REQUEST_PROBLEM_MAX]; /* "": none */

	const char *op; /* for UNKNOWN_OP */
	const char *id; /* for EXEC in the frame form */
	/* The number of this request, or of the request that it is about; 0: none. */
	uint64_t number;

	const char *exec; /* for ATTACH and EXEC: the exec's id; NULL: none given */
	/* For EXEC: the time that the command may live without a client; 0: no time. */
	uint64_t grace_ms;
	uint64_t offsets[REQUEST_STREAMS]; /* for ATTACH, ACK */

	/* The members below are for EXEC. ATTACH uses only stdin_window and terminal. */
	const char **argv; /* ends with NULL; owned */
	json_t *env;	   /* checked; NULL: none */
	const char *cwd, *user;
	uint64_t timeout_ms; /* 0: none */
	struct rlimits rlimits;
	bool stream;
	bool stdin_open;
	bool stdin_window; /* the client respects the window; also for ATTACH */
	bool hand_over;	   /* the connection becomes the command's stdin and stdout */
	/* For EXEC without a stream: the whole stdin; for WRITE: the contents of the file. */
	struct buf stdin_bytes;
	bool terminal;
	uint16_t rows, columns; /* also for RESIZE */

	struct contained *contained; /* for EXEC: the container to run in or to make; NULL: none */
	const char *guest_path;	     /* for COPYOUT, WRITE, LIST, STAT */
	int signal;		     /* for SIGNAL */
};

/* Decodes the envelope form: {"op":S,"payload":{...}}. */
int request_decode_envelope(const void *text, size_t len, struct request *out, struct error *err);
/* Decodes the payload of a frame that begins with '{'. */
int request_decode_frame(const void *text, size_t len, struct request *out, struct error *err);
/* Decodes the workload of a run config: the keys command, cwd, user and timeoutSeconds. They have
 * the same meaning as in a request. The key env is not decoded here, since it holds for every
 * command of the guest. Takes its own reference to `config`. */
int request_decode_workload(json_t *config, struct request *out, struct error *err);
void request_free(struct request *request); /* accepts a zeroed struct */

/*
 * The state of envelope_scan(), which finds the end of one JSON value in the stream of the envelope
 * form. Values are separated by a newline, or by nothing at all. Each call looks only at the new
 * bytes, and goes on where the call before has stopped.
 */
struct envelope_scan {
	size_t at; /* the number of bytes that were looked at */
	size_t depth;
	bool in_string, escaped;
};
/* Returns the length of the first complete value, with the white space before it; 0 if more bytes
 * are needed. */
size_t envelope_scan(struct envelope_scan *scan, const uint8_t *bytes, size_t len);

#endif
