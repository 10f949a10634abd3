/* SPDX-License-Identifier: MIT */
/*
 * Decodes requests to the agent. The functions are pure, and turn bytes into a struct. A client
 * writes its requests in one of two forms, the envelope form or the frame form. The first byte of a
 * connection shows which form the client uses. Requests of both forms are decoded into the same
 * struct.
 *
 * A message that is not JSON, or has no op or no request number, breaks the protocol: decoding
 * fails, and the connection ends. A request with a wrong value is decoded, and the member `problem`
 * says what is wrong. The client gets the same kind of answer as for a command that could not be
 * started. Unknown keys are ignored.
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
	REQUEST_EXEC,	 /* REQUEST_EXEC exists in both forms */
	REQUEST_COPYOUT, /* the kinds from this one to PTY exist only in the envelope form */
	REQUEST_WRITE,
	REQUEST_LIST,
	REQUEST_STAT,
	REQUEST_PTY,
	REQUEST_UNKNOWN_OP,
	REQUEST_ATTACH, /* the kinds from this one to START exist only in the frame form */
	REQUEST_SIGNAL,
	REQUEST_RESIZE,
	REQUEST_STDIN_CLOSE,
	REQUEST_CANCEL,
	REQUEST_ACK,
	REQUEST_RELEASE,
	REQUEST_START, /* starts a container that was created and waits in the state HELD */
	REQUEST_KIND_COUNT
};

#define REQUEST_ID_MAX 1024
#define REQUEST_PROBLEM_MAX 400
#define REQUEST_EXEC_MAX 64
#define REQUEST_STREAMS 2 /* the number of output streams: stdout and stderr */

/* The word that a client writes in place of an exec's id to name the run config's command. */
#define EXEC_WORKLOAD "workload"

/* A decoded request. The strings belong to the JSON value `doc`, unless the comment of a member
 * says otherwise. */
struct request {
	json_t *doc;
	enum request_kind kind;
	/* The text that says what is wrong with the request; "" if nothing is wrong. */
	char problem[REQUEST_PROBLEM_MAX];

	const char *op; /* the request's op, if the agent does not know it */
	const char *id; /* the id of an EXEC in the frame form */
	/* The number of this request. An event has the number of the request that the event is
	 * about. The number is 0 if the message has none. */
	uint64_t number;

	const char *exec; /* for ATTACH and EXEC: the exec's id; NULL: the client gave none */
	/* For EXEC: how many milliseconds the command may run without a client. 0: the command ends
	 * when its connection ends. */
	uint64_t grace_ms;
	/* For ATTACH and ACK: the offset of a byte in each output stream. ATTACH gets the output
	 * from this byte on, ACK acknowledges the bytes before it. */
	uint64_t offsets[REQUEST_STREAMS];

	/* The members below are for EXEC, unless a comment says otherwise. ATTACH also uses
	 * stdin_window and terminal. */
	/* The words of the command. The array ends with NULL, and request_free() frees it. */
	const char **argv;
	json_t *env; /* the environment, which has been checked; NULL: the request has none */
	const char *cwd, *user;
	uint64_t timeout_ms; /* the time limit of the command in milliseconds; 0: no limit */
	struct rlimits rlimits;
	bool stream;
	bool stdin_open;
	bool stdin_window; /* the client obeys the flow-control window for stdin; also for ATTACH */
	bool hand_over;	   /* the connection becomes the command's stdin and stdout */
	/* For EXEC without a stream: all bytes of stdin. For WRITE: the contents of the file. */
	struct buf stdin_bytes;
	bool terminal;
	uint16_t rows, columns; /* the size of the terminal in characters, also for RESIZE */

	/* For EXEC: the container in which the command runs, or which it creates. NULL: the command
	 * runs in no container. */
	struct contained *contained;
	const char *guest_path; /* for COPYOUT, WRITE, LIST and STAT: the file's path */
	int signal;		/* for SIGNAL: the number of the signal */
};

/* Decodes the envelope form: {"op":S,"payload":{...}}. */
int request_decode_envelope(const void *text, size_t len, struct request *out, struct error *err);
/* Decodes the payload of a frame that begins with '{'. */
int request_decode_frame(const void *text, size_t len, struct request *out, struct error *err);
/* Decodes the workload of a run config: the keys command, cwd, user and timeoutSeconds, which have
 * the same meaning as in a request. The key env is not decoded here, since it is for all commands
 * of the guest. *out gets its own reference to `config`. */
int request_decode_workload(json_t *config, struct request *out, struct error *err);
void request_free(struct request *request); /* accepts a struct request whose members are all 0 */

/*
 * The state of envelope_scan(), which finds the end of one JSON value in the stream of the envelope
 * form. Between two values there is a newline, or nothing. Each call looks only at bytes that no
 * earlier call has looked at.
 */
struct envelope_scan {
	size_t at; /* how many bytes earlier calls have looked at */
	size_t depth;
	bool in_string, escaped;
};
/* Returns the length in bytes of the first complete value with the white space before it. Returns 0
 * if more bytes are needed. */
size_t envelope_scan(struct envelope_scan *scan, const uint8_t *bytes, size_t len);

#endif
