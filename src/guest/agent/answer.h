/* SPDX-License-Identifier: MIT */
/* What the agent says, as JSON text. Pure; every result is malloc'd, one line, without a newline.
 */
#ifndef GUEST_ANSWER_H
#define GUEST_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/port_set.h"
#include "guest/agent/stdin_window.h"
#include "guest/job/job.h"

/* One buffered command's output. */
struct captured {
	struct buf bytes[JOB_STREAMS];
	bool truncated[JOB_STREAMS];
};

/* Envelope form: {"exit_code","stdout","stderr"}, and when they hold "timed_out",
 * "stdout_truncated", "stderr_truncated", "start_error". Bytes that are no UTF-8 become U+FFFD. */
char *answer_envelope_exec(const struct job_end *end, const struct captured *output,
			   struct error *err);
/* {"error"} */
char *answer_envelope_error(const char *text, struct error *err);

/* Frame form: {"id","stdout","stderr","exitCode","elapsedMs","killed"}, and when they hold
 * "signal", "timedOut", "stdoutTruncated", "stderrTruncated", "startError". */
char *answer_frame_exec(const char *id, const struct job_end *end, const struct captured *output,
			struct error *err);

/* Streaming mode. exec: the id of a resumable one, else NULL. window: NULL if the client has none.
 */
char *answer_start(uint64_t request, const char *id, pid_t pid, const char *exec,
		   const struct stdin_window *window, struct error *err);
/* A container is made, and waits for its start. */
char *answer_created(uint64_t request, struct error *err);
char *answer_ack(uint64_t request, uint64_t stdin_offset, struct error *err);
char *answer_detached(uint64_t request, const struct error *why, struct error *err);
char *answer_exit(uint64_t request, const char *id, const struct job_end *end, struct error *err);
char *answer_error(uint64_t request, const char *text, struct error *err); /* request 0: none */

/* Control stream. */
/* restored: the machine was saved, and waits to be made another. linked: the agent serves a mux. */
char *answer_hello(const char *boot_id, bool restored, bool linked, struct error *err);
char *answer_ready(struct error *err);
/* The machine is being ended in order. */
char *answer_ending(struct error *err);
/* To a mount; error: why it is not, or NULL. */
char *answer_mounted(const char *error, struct error *err);
char *answer_published(const char *error, struct error *err);
/* At which ports servers listen; NULL: it is not known. */
char *answer_listening(const struct port_set *ports, struct error *err);
/* To a quiesce; error: why it may not be saved, or NULL. */
char *answer_quiesced(const char *error, struct error *err);
/* To a settle: all that there was to tell has been told. */
char *answer_settled(struct error *err);
char *answer_result(const struct job_end *end, const struct captured *output, struct error *err);

#endif
