/* SPDX-License-Identifier: MIT */
/* A call that gathers its command's output, as much as it may, and answers once. */
#ifndef GUEST_CALL_CAPTURE_H
#define GUEST_CALL_CAPTURE_H

#include "guest/agent/call.h"

struct capture {
	struct call call;
	struct captured output;
	size_t most[JOB_STREAMS], most_together; /* bytes that are kept */
	bool dropping;				 /* space() was nowhere: what comes is lost */
	bool stdin_whole;			 /* stdin_bytes are all there will be */
	struct buf stdin_bytes;			 /* still to be written */
};

/* An exec of the envelope form, and of the frame form without a stream. */
int capture_envelope(struct conn *conn, struct request *request, struct error *err);
int capture_frame(struct conn *conn, struct request *request, struct error *err);

/* For another kind: one whose struct begins with a struct capture. Its job's owner and its table
 * have these, and capture_begun() is what follows the start. */
struct capture *capture_new(struct conn *conn, const struct call_kind *kind, const char *id,
			    uint64_t number, struct error *err);
extern const struct job_owner capture_owner;
void capture_drop(struct call *call);
/* Says why there is no job, or gives it the request's stdin, which is taken over. */
void capture_begun(struct capture *capture, struct request *request, const struct error *why);

#endif
