/* SPDX-License-Identifier: MIT */
/* A call that gathers its command's output, up to a limit, and answers once. */
#ifndef GUEST_CALL_CAPTURE_H
#define GUEST_CALL_CAPTURE_H

#include "guest/agent/call.h"

struct capture {
	struct call call;
	struct captured output;
	size_t most[JOB_STREAMS], most_together; /* the most bytes that are kept */
	bool dropping;		/* no room is left, and further output is dropped */
	bool stdin_whole;	/* `stdin_bytes` has the stdin up to its end */
	struct buf stdin_bytes; /* the part of stdin that is not written yet */
};

/* Functions that start an exec of the envelope form, and an exec of the frame form without a
 * stream. */
int capture_envelope(struct conn *conn, struct request *request, struct error *err);
int capture_frame(struct conn *conn, struct request *request, struct error *err);

/* Functions for a kind of calls whose own struct begins with a struct capture. The struct call_kind
 * of such a kind has capture_drop(). The owner of its job is capture_owner. The kind calls
 * capture_begun() after the start of the job. */
struct capture *capture_new(struct conn *conn, const struct call_kind *kind, const char *id,
			    uint64_t number, struct error *err);
extern const struct job_owner capture_owner;
void capture_drop(struct call *call);
/* If the job could not be started, answers the client with the reason `why`. Otherwise gives the
 * job the request's stdin, which is taken over. */
void capture_begun(struct capture *capture, struct request *request, const struct error *why);

#endif
