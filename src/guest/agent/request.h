/* SPDX-License-Identifier: MIT */
/*
 * Requests to the agent, decoded. Pure: bytes in, struct out. There are two wire forms, told apart
 * by a connection's first byte, and both end in the same struct.
 *
 * A message that cannot be told apart from noise (no JSON, no op, no request number) is an error of
 * the protocol: decoding fails and the connection ends. A request that is understood but asks for
 * something wrong decodes, with `problem` saying what; it is answered like a command that could not
 * be started. Unknown keys are ignored.
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
	REQUEST_EXEC,	 /* either form */
	REQUEST_COPYOUT, /* envelope form from here on */
	REQUEST_WRITE,
	REQUEST_LIST,
	REQUEST_STAT,
	REQUEST_PTY,
	REQUEST_UNKNOWN_OP,
	REQUEST_ATTACH, /* frame form from here on */
	REQUEST_SIGNAL,
	REQUEST_RESIZE,
	REQUEST_STDIN_CLOSE,
	REQUEST_CANCEL,
	REQUEST_ACK,
	REQUEST_RELEASE,
	REQUEST_START, /* a container that is made */
	REQUEST_KIND_COUNT
};

#define REQUEST_ID_MAX 1024
#define REQUEST_PROBLEM_MAX 400
#define REQUEST_EXEC_MAX 64
#define REQUEST_STREAMS 2 /* stdout, stderr */

#define EXEC_WORKLOAD "workload" /* the run config's command, where an exec's id could be */

/* Strings are borrowed from doc. */
struct request {
	json_t *doc;
	enum request_kind kind;
	char problem[REQUEST_PROBLEM_MAX]; /* "": none */

	const char *op;	 /* UNKNOWN_OP */
	const char *id;	 /* frame form's EXEC */
	uint64_t number; /* of the request that it is about or makes; 0: none */

	const char *exec;  /* ATTACH; also EXEC's, NULL: none given */
	uint64_t grace_ms; /* EXEC: how long it may be without a client; 0: not at all */
	uint64_t offsets[REQUEST_STREAMS]; /* ATTACH, ACK */

	/* EXEC, ATTACH (terminal alone) */
	const char **argv; /* NULL-terminated, malloc'd */
	json_t *env;	   /* checked; NULL: none */
	const char *cwd, *user;
	uint64_t timeout_ms; /* 0: none */
	struct rlimits rlimits;
	bool stream;
	bool stdin_open;
	bool stdin_window;	/* the client keeps to it; also ATTACH's */
	bool hand_over;		/* the connection becomes the command's stdin and stdout */
	struct buf stdin_bytes; /* whole, of a request that does not stream; WRITE: the file */
	bool terminal;
	uint16_t rows, columns; /* also RESIZE */

	struct contained *contained; /* EXEC: in a container, or the first of one; NULL: in none */
	const char *guest_path;	     /* COPYOUT, WRITE, LIST, STAT */
	int signal;		     /* SIGNAL */
};

/* The envelope form: {"op":S,"payload":{...}}. */
int request_decode_envelope(const void *text, size_t len, struct request *out, struct error *err);
/* The payload of a frame that begins with '{'. */
int request_decode_frame(const void *text, size_t len, struct request *out, struct error *err);
/* The workload of a run config, which has the same keys: command, env, user, cwd, timeoutSeconds.
 * Takes its own reference to config. */
int request_decode_workload(json_t *config, struct request *out, struct error *err);
void request_free(struct request *request); /* accepts a zeroed one */

/*
 * Finds the end of one JSON value in the envelope form's stream, where values are separated by a
 * newline or nothing at all. Feed it what is there; it goes on where it stopped.
 */
struct envelope_scan {
	size_t at; /* bytes looked at */
	size_t depth;
	bool in_string, escaped;
};
/* The length of the first whole value with the white space in front of it, or 0: more is needed. */
size_t envelope_scan(struct envelope_scan *scan, const uint8_t *bytes, size_t len);

#endif
