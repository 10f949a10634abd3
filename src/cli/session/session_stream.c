/* SPDX-License-Identifier: MIT */
/* session stream: prints each line of a command's output as soon as the line is complete. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "cli/terminal/attend.h"
#include "microagent_session.h"

struct stream_values {
	const char *cwd, *user;
	struct cli_words env;
	int64_t timeout;
	bool shell;
};

struct stream {
	const struct cli *cli;
	int64_t timeout;
	/* the time on clock_mono_ns() until which the program waits for a slow reader; see
	 * cli_write_by() */
	uint64_t read_by_ns;
	bool broken; /* true: the reader of stdout has closed it */
	bool unread; /* true: nobody has read the output in time */
};

/* Returns the document for a line: {"stream","line"}. If the line is not UTF-8, the document has
 * its exact bytes as "lineBase64". If the last line does not end with a newline, the document has
 * "partial": true. */
static json_t *line_document(enum microagent_output which, const char *bytes, size_t len)
{
	bool whole = bytes[len - 1] == '\n';
	size_t text = len - whole;
	json_auto_t *line =
		json_pack("{s:s,s:o}", "stream", which == MICROAGENT_STDOUT ? "stdout" : "stderr",
			  "line", json_string_lossy(bytes, text));
	autofree char *exact = utf8_is_whole(bytes, text) ? NULL : base64_encode(bytes, text, NULL);

	if (!line || (exact && json_put_string(line, "lineBase64", exact, NULL) < 0) ||
	    (!whole && json_put(line, "partial", json_true(), NULL) < 0))
		return NULL;
	return steal_ptr(&line);
}

/* Prints one line. Without --json the line goes unchanged to stdout or stderr, to the same stream
 * as in the guest. With --json the line becomes a document on stdout. */
static int put_line(void *data, enum microagent_output which, const void *bytes, size_t len)
{
	struct stream *stream = data;
	FILE *out = which == MICROAGENT_STDOUT ? stdout : stderr;

	int got;

	if (stream->cli->json) {
		json_auto_t *line = line_document(which, bytes, len);

		got = line ? cli_print_json_by(line, stream->read_by_ns, NULL) : -1;
	} else {
		got = cli_write_by(out, bytes, len, stream->read_by_ns);
	}
	stream->broken = got < 0;
	stream->unread = got > 0;
	return got;
}

static int conclude(const struct stream *stream, struct microagent_result *result,
		    struct error *err)
{
	int code = result->exit_code;

	if (result->start_error[0] && !stream->cli->json)
		cli_warn("%s", result->start_error);
	if (stream->unread) {
		attend_say_unread(stream->cli, stream->timeout);
		return CLI_EXIT_TIMEOUT;
	}
	if (stream->cli->json && !stream->broken) {
		json_auto_t *end = json_pack("{s:i,s:I}", "exitCode", code, "elapsedMs",
					     (json_int_t)result->elapsed_ms);

		if (!end ||
		    (result->timed_out && json_put(end, "timedOut", json_true(), err) < 0) ||
		    (result->start_error[0] &&
		     json_put(end, "startError",
			      json_string_lossy(result->start_error, strlen(result->start_error)),
			      err) < 0) ||
		    cli_print_json(end, err) < 0)
			return -1;
	}
	return stream->broken ? 128 + SIGPIPE : code;
}

static int stream_in(struct cli *cli, struct microagent_session *session,
		     const struct stream_values *v, const struct cli_words *args, struct error *err)
{
	const struct microagent_exec exec = {.command = args->items + 1,
					     .env = v->env.items,
					     .cwd = v->cwd,
					     .user = v->user,
					     .timeout_seconds = v->timeout};
	struct stream stream = {.cli = cli, .timeout = v->timeout, .read_by_ns = UINT64_MAX};
	const struct microagent_callbacks callbacks = {.output = put_line, .data = &stream};
	struct microagent_result result = {0};
	int status;

	if (v->timeout)
		stream.read_by_ns = clock_mono_ns() + (uint64_t)v->timeout * NS_PER_S;
	if (v->shell)
		status = microagent_session_stream_shell(session, args->items[1], &exec,
							 MICROAGENT_LINES, &callbacks, NULL,
							 &result, err);
	else
		status = microagent_session_stream(session, &exec, MICROAGENT_LINES, &callbacks,
						   NULL, &result, err);
	if (status < 0)
		return -1;
	status = conclude(&stream, &result, err);
	microagent_result_free(&result);
	return status;
}

static int run_stream(struct cli *cli, const void *values, const struct cli_words *args,
		      struct error *err)
{
	const struct stream_values *v = values;
	struct microagent_session *session = NULL;
	struct microagent *agent;
	int code = -1;

	if (v->shell && args->count != 2)
		return cli_usage(cli, err, "--shell takes one word: put the whole line in quotes");
	if (guest_check_command(cli, args->items + 1, err) < 0 ||
	    guest_take_env(cli, &v->env, err) < 0)
		return -1;
	agent = guest_open(cli, NULL, err);
	if (!agent)
		return -1;
	if (microagent_session_open(agent, args->items[0], &session, err) == 0)
		code = stream_in(cli, session, v, args, err);
	session_tell_end(cli, args->items[0], NULL, code);
	microagent_session_close(session);
	microagent_close(agent);
	return code;
}

static const struct cli_option stream_options[] = {
	{"shell", 0, CLI_OPTION_FLAG, offsetof(struct stream_values, shell), NULL,
	 "CMD is one line for the guest's sh", 0, 0},
	{"env", 'e', CLI_OPTION_LIST, offsetof(struct stream_values, env), "KEY=VALUE",
	 "variable of the command; KEY alone takes your own; may be given again", 0, 0},
	{"cwd", 'w', CLI_OPTION_GUEST, offsetof(struct stream_values, cwd), "PATH",
	 "working directory (default: the user's home, else /)", 0, 0},
	{"user", 'u', CLI_OPTION_GUEST, offsetof(struct stream_values, user), "USER",
	 "user who runs the command (default: the image's user, else uid 1000)", 0, 0},
	{"timeout", 0, CLI_OPTION_INT, offsetof(struct stream_values, timeout), "SECONDS",
	 "end the command after this time, with exit code 124", 1, INT32_MAX},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

const struct cli_command session_stream = {
	.name = "stream",
	.args = "SESSION [--] CMD [WORD...]",
	.summary = "run a command in a session and pass its output on line by line",
	.help = "With --json each line is an object of its own, {\"stream\",\"line\"}, and the last\n"
		"one is {\"exitCode\",\"elapsedMs\"}. A line that goes on in the next object of its\n"
		"stream, or has no end, has \"partial\"; one that is not text is exact in \"lineBase64\".\n",
	.options = stream_options,
	.values_size = sizeof(struct stream_values),
	.min_args = 2,
	.max_args = SIZE_MAX,
	.takes_command = true,
	.plain_args = 1,
	.guest_exit = true,
	.check_name = microagent_session_check_name,
	.run = run_stream,
};
