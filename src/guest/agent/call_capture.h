/* SPDX-License-Identifier: MIT */
/* A call that gathers its command's output, up to a limit, and answers once with the whole
 * output. */
#ifndef GUEST_CALL_CAPTURE_H
#define GUEST_CALL_CAPTURE_H

#include "guest/agent/call.h"

struct capture {
	struct call call;
	struct captured output;
	/* The most bytes that are kept: of each stream, and of both streams together. */
	size_t most[JOB_STREAMS], most_together;
	/* The kept output has reached a limit, and further output is dropped. */
	bool dropping;
	/* `stdin_bytes` holds all of stdin that is not written yet, up to the end of stdin. */
	bool stdin_whole;
	struct buf stdin_bytes; /* the bytes of stdin that are not written to the command yet */
};

/* Functions that start an exec whose output is not streamed: capture_envelope() in the envelope
 * form, capture_frame() in the frame form. */
int capture_envelope(struct conn *conn, struct request *request, struct error *err);
int capture_frame(struct conn *conn, struct request *request, struct error *err);

/* Functions for a kind of calls whose own struct begins with a struct capture. The struct call_kind
 * of this kind has capture_drop(), and capture_owner is the owner of its job. The kind calls
 * capture_begun() after it has started the job. */
struct capture *capture_new(struct conn *conn, const struct call_kind *kind, const char *id,
			    uint64_t number, struct error *err);
extern const struct job_owner capture_owner;
void capture_drop(struct call *call);
/* Answers the client with the reason `why` if the job could not be started. Otherwise takes over
 * the request's stdin and gives it to the job. */
void capture_begun(struct capture *capture, struct request *request, const struct error *why);

#endif
