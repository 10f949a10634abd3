/* SPDX-License-Identifier: MIT */
/* A call that gathers its command's output, up to a limit. The client gets one answer with all of
 * this output. */
#ifndef GUEST_CALL_CAPTURE_H
#define GUEST_CALL_CAPTURE_H

#include "guest/agent/call.h"

struct capture {
	struct call call;
	struct captured output;
	/* The largest number of bytes of output that the call keeps: of each stream, and of both
	 * streams together. */
	size_t most[JOB_STREAMS], most_together;
	/* The kept output has reached a limit, and the call drops further output. */
	bool dropping;
	/* The command's stdin must be closed when all of `stdin_bytes` is written. */
	bool stdin_whole;
	struct buf stdin_bytes; /* bytes of stdin that the command has not got yet */
};

/* Functions that start an exec whose output is not streamed: capture_envelope() in the envelope
 * form, capture_frame() in the frame form. */
int capture_envelope(struct conn *conn, struct request *request, struct error *err);
int capture_frame(struct conn *conn, struct request *request, struct error *err);

/* Functions for another kind of call whose struct begins with a struct capture. The struct
 * call_kind of such a kind uses capture_drop(), and its job uses capture_owner. The kind calls
 * capture_begun() when it has tried to start the job. */
struct capture *capture_new(struct conn *conn, const struct call_kind *kind, const char *id,
			    uint64_t number, struct error *err);
extern const struct job_owner capture_owner;
void capture_drop(struct call *call);
/* If the job could not be started, sends the client the reason `why`. Otherwise takes ownership of
 * the request's stdin bytes and gives them to the job. */
void capture_begun(struct capture *capture, struct request *request, const struct error *why);

#endif
