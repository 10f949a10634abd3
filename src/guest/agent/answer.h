/* SPDX-License-Identifier: MIT */
/* The agent's messages as JSON text. The functions are pure. Each result is one line without a
 * newline, which the caller frees. */
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

/* The output of one command. If `truncated` is true for a stream, `bytes` lacks the rest of that
 * stream's output. */
struct captured {
	struct buf bytes[JOB_STREAMS];
	bool truncated[JOB_STREAMS];
};

/* Returns the envelope form of an exec's answer: {"exit_code","stdout","stderr"}, and, if set,
 * "timed_out", "stdout_truncated", "stderr_truncated", "start_error". Bytes that are not UTF-8
 * become U+FFFD. */
char *answer_envelope_exec(const struct job_end *end, const struct captured *output,
			   struct error *err);
/* Returns the envelope form of a failure: {"error"}. */
char *answer_envelope_error(const char *text, struct error *err);

/* Returns the frame form of an exec's answer:
 * {"id","stdout","stderr","exitCode","elapsedMs","killed"}, and, if set, "signal", "timedOut",
 * "stdoutTruncated", "stderrTruncated", "startError". */
char *answer_frame_exec(const char *id, const struct job_end *end, const struct captured *output,
			struct error *err);

/* Returns the message that a streaming command has started. `exec` is the id of a resumable
 * command, or NULL if the command is not resumable. `window` is NULL if the client does not use a
 * window for stdin. */
char *answer_start(uint64_t request, const char *id, pid_t pid, const char *exec,
		   const struct stdin_window *window, struct error *err);
/* Returns the message that a container was created and waits for the request to start. */
char *answer_created(uint64_t request, struct error *err);
char *answer_ack(uint64_t request, uint64_t stdin_offset, struct error *err);
char *answer_detached(uint64_t request, const struct error *why, struct error *err);
char *answer_exit(uint64_t request, const char *id, const struct job_end *end, struct error *err);
/* Returns an error message for the request number `request`. If `request` is 0, the error is about
 * the connection and not about a request. */
char *answer_error(uint64_t request, const char *text, struct error *err);

/* The functions below return messages of the control stream. */
/* Returns the message `hello`. `restored` is true if the machine was restored from a save and waits
 * for its new identity. `linked` is true if the agent accepts requests through a mux. */
char *answer_hello(const char *boot_id, bool restored, bool linked, struct error *err);
char *answer_ready(struct error *err);
/* Returns the message that the guest is shutting down in order. */
char *answer_ending(struct error *err);
/* Returns the answer to a mount request. `error` is the reason why the mount failed, or NULL if it
 * succeeded. */
char *answer_mounted(const char *error, struct error *err);
char *answer_published(const char *error, struct error *err);
/* Returns the message with the ports on which servers listen. If `ports` is NULL, the message says
 * that the ports are not known. */
char *answer_listening(const struct port_set *ports, struct error *err);
/* Returns the answer to a quiesce request. `error` is the reason why the machine may not be saved,
 * or NULL if the machine may be saved. */
char *answer_quiesced(const char *error, struct error *err);
/* Returns the answer to a settle request. The answer says that the agent has sent all reports that
 * it had. */
char *answer_settled(struct error *err);
char *answer_result(const struct job_end *end, const struct captured *output, struct error *err);

#endif
