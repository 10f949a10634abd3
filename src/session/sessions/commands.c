/* SPDX-License-Identifier: MIT */
/* Runs commands in a session. The connection to the guest is made when the first command runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/guest.h"
#include "base/cleanup.h"
#include "session/sessions/session.h"

struct microagent_guest *microagent_session_guest(struct microagent_session *session,
						  struct error *err)
{
	struct microagent_guest *guest;

	pthread_mutex_lock(&session->life);
	if (!session->guest)
		session->guest = guest_handle_open(session->agent, session->id, err);
	guest = session->guest;
	pthread_mutex_unlock(&session->life);
	return guest;
}

int microagent_session_run(struct microagent_session *session, const struct microagent_exec *exec,
			   const struct microagent_run_limits *limits,
			   struct microagent_result *out, struct error *err)
{
	struct microagent_guest *guest = microagent_session_guest(session, err);

	return guest ? microagent_guest_run(guest, exec, limits, out, err) : -1;
}

#define SHELL_WORDS 4

/* Returns a copy of `exec` in which the command is a shell that runs `line`. `exec` may be NULL.
 * The result points to `words`, so `words` must stay valid as long as the result is used. */
static struct microagent_exec in_shell(const char *line, const struct microagent_exec *exec,
				       const char *words[SHELL_WORDS])
{
	struct microagent_exec whole = exec ? *exec : (struct microagent_exec){0};

	words[0] = "sh";
	words[1] = "-c";
	words[2] = line;
	words[3] = NULL;
	whole.command = words;
	return whole;
}

int microagent_session_run_shell(struct microagent_session *session, const char *line,
				 const struct microagent_exec *exec,
				 const struct microagent_run_limits *limits,
				 struct microagent_result *out, struct error *err)
{
	const char *words[SHELL_WORDS];
	const struct microagent_exec whole = in_shell(line, exec, words);

	return microagent_session_run(session, &whole, limits, out, err);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Splits a command's output into lines. `part` has the incomplete line of stdout and that of
 * stderr. */
struct liner {
	const struct microagent_callbacks *callbacks;
	struct {
		uint8_t *bytes; /* buffer of MICROAGENT_LINE_MAX bytes */
		size_t len;
	} part[2];
};

static int give_line(const struct liner *l, enum microagent_output stream, const void *bytes,
		     size_t len)
{
	return len ? l->callbacks->output(l->callbacks->data, stream, bytes, len) : 0;
}

static int flush_part(struct liner *l, enum microagent_output stream)
{
	size_t len = l->part[stream].len;

	l->part[stream].len = 0;
	return give_line(l, stream, l->part[stream].bytes, len);
}

/* Returns how many of the `len` bytes belong to the current line. `before` is the number of bytes
 * of this line that came earlier. Sets *whole to true if the line is then complete: it has its
 * newline, or it has the largest allowed length. */
static size_t line_end(const uint8_t *bytes, size_t len, size_t before, bool *whole)
{
	size_t most = MICROAGENT_LINE_MAX - before, look = len < most ? len : most;
	const uint8_t *newline = memchr(bytes, '\n', look);

	*whole = newline || look == most;
	return newline ? (size_t)(newline - bytes) + 1 : look;
}

static int cut_lines(void *data, enum microagent_output stream, const void *bytes, size_t len)
{
	struct liner *l = data;
	const uint8_t *at = bytes;

	while (len > 0) {
		size_t before = l->part[stream].len;
		bool whole;
		size_t n = line_end(at, len, before, &whole);
		int status = 0;

		if (whole && before == 0) {
			status = give_line(l, stream, at, n); /* the usual case: a whole line is
							       * passed without being copied */
		} else {
			memcpy(l->part[stream].bytes + before, at, n);
			l->part[stream].len += n;
			if (whole)
				status = flush_part(l, stream);
		}
		if (status != 0)
			return status;
		at += n;
		len -= n;
	}
	return 0;
}

static void tell_lines_started(void *data)
{
	const struct liner *l = data;

	if (l->callbacks->started)
		l->callbacks->started(l->callbacks->data);
}

static int stream_lines(struct microagent_guest *guest, const struct microagent_exec *exec,
			const struct microagent_callbacks *callbacks,
			const struct microagent_run_limits *limits, struct microagent_result *out,
			struct error *err)
{
	autofree uint8_t *room = malloc(2 * (size_t)MICROAGENT_LINE_MAX);
	struct liner liner = {.callbacks = callbacks};
	const struct microagent_callbacks mine = {
		.output = cut_lines, .started = tell_lines_started, .data = &liner};

	if (!room)
		return error_errno(err, ENOMEM, "lines");
	liner.part[MICROAGENT_STDOUT].bytes = room;
	liner.part[MICROAGENT_STDERR].bytes = room + MICROAGENT_LINE_MAX;
	if (microagent_guest_stream(guest, exec, &mine, limits, out, err) < 0)
		return -1;
	(void)flush_part(&liner, MICROAGENT_STDOUT);
	(void)flush_part(&liner, MICROAGENT_STDERR);
	return 0;
}

int microagent_session_stream(struct microagent_session *session,
			      const struct microagent_exec *exec, enum microagent_pieces pieces,
			      const struct microagent_callbacks *callbacks,
			      const struct microagent_run_limits *limits,
			      struct microagent_result *out, struct error *err)
{
	struct microagent_guest *guest = microagent_session_guest(session, err);

	if (!guest)
		return -1;
	if (pieces == MICROAGENT_LINES)
		return stream_lines(guest, exec, callbacks, limits, out, err);
	return microagent_guest_stream(guest, exec, callbacks, limits, out, err);
}

int microagent_session_stream_shell(struct microagent_session *session, const char *line,
				    const struct microagent_exec *exec,
				    enum microagent_pieces pieces,
				    const struct microagent_callbacks *callbacks,
				    const struct microagent_run_limits *limits,
				    struct microagent_result *out, struct error *err)
{
	const char *words[SHELL_WORDS];
	const struct microagent_exec whole = in_shell(line, exec, words);

	return microagent_session_stream(session, &whole, pieces, callbacks, limits, out, err);
}
