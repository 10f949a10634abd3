/* SPDX-License-Identifier: MIT */
/*
 * A session for one task: session BASE LINE. Clones the base, boots it, runs a line of the shell in
 * it, streams what it says, and destroys it.
 *
 *     cc -o session session.c $(pkg-config --cflags --libs microagent)
 */
#include <microagent_session.h>
#include <stdio.h>

static int print_line(void *data, enum microagent_output stream, const void *bytes, size_t len)
{
	(void)data;
	fwrite(bytes, 1, len, stream == MICROAGENT_STDOUT ? stdout : stderr);
	return 0; /* other than 0 would end the command */
}

/* The exit code of the line, or -1. */
static int work(struct microagent_session *session, const char *line, struct error *err)
{
	const struct microagent_callbacks callbacks = {.output = print_line};
	const struct microagent_run_limits limits = {.timeout_ms = 60000};
	struct microagent_result result;

	if (microagent_session_boot(session, err) < 0 ||
	    microagent_session_run_shell(session, "uname -sr", NULL, &limits, &result, err) < 0)
		return -1;
	fprintf(stderr, "%s: %s", microagent_session_name(session), result.stdout_bytes);
	microagent_result_free(&result);
	if (microagent_session_stream_shell(session, line, NULL, MICROAGENT_LINES, &callbacks,
					    &limits, &result, err) < 0)
		return -1;
	return result.exit_code; /* a stream keeps no output, so there is nothing to free */
}

int main(int argc, char **argv)
{
	const struct microagent_session_spec spec = {.base = argc > 1 ? argv[1] : NULL,
						     .machine.network = "isolated"};
	struct microagent_session *session = NULL;
	struct error err = {0}, gone = {0};
	struct microagent *agent = argc > 2 ? microagent_open(NULL, &err) : NULL;
	int code = -1;

	if (agent && microagent_session_clone_base(agent, &spec, &session, &err) == 0) {
		code = work(session, argv[2], &err);
		if (microagent_session_destroy(session, &gone) < 0)
			fprintf(stderr, "session: %s\n", gone.msg);
	}
	if (code < 0)
		fprintf(stderr, "session: %s\n", argc > 2 ? err.msg : "session BASE LINE");
	microagent_session_close(session);
	microagent_close(agent);
	return code < 0 ? 125 : code;
}
