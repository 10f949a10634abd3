/* SPDX-License-Identifier: MIT */
/* A call that gathers its command's output, up to a limit, and answers once. */
#ifndef GUEST_CALL_CAPTURE_H
#define GUEST_CALL_CAPTURE_H

#include "guest/agent/call.h"

struct capture {
	struct call call;
	struct captured output;
	size_t most[JOB_STREAMS], most_together; /* the most bytes that are kept */
	bool dropping;				 /* space() had no room: further output is lost */
	bool stdin_whole;			 /* stdin_bytes has all of the stdin */
	struct buf stdin_bytes;			 /* stdin still to be written */
};

/* Start an exec of the envelope form, and an exec of the frame form without a stream. */
int capture_envelope(struct conn *conn, struct request *request, struct error *err);
int capture_frame(struct conn *conn, struct request *request, struct error *err);

/* For a kind whose struct begins with a struct capture. Its job's owner and its table use these
 * functions, and capture_begun() follows the start. */
struct capture *capture_new(struct conn *conn, const struct call_kind *kind, const char *id,
			    uint64_t number, struct error *err);
extern const struct job_owner capture_owner;
void capture_drop(struct call *call);
/* Says why there is no job (why), or gives the job the request's stdin, which is taken over. */
void capture_begun(struct capture *capture, struct request *request, const struct error *why);

#endif
