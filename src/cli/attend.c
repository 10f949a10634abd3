/* SPDX-License-Identifier: MIT */
#include "cli/attend.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/capture.h"
#include "cli/guest.h"
#include "cli/terminal.h"

/* As a shell has them. */
enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

int attend_check(struct cli *cli, const struct attend *how, struct error *err)
{
	if (how->input.interactive && how->input.file)
		return cli_usage(cli, err,
				 "--stdin and --interactive both say where stdin comes from: give "
				 "one of them");
	if (how->terminal && cli->json)
		return cli_usage(cli, err, "--json: a terminal shows bytes and no document");
	return 0;
}

/* Why the command never ran, in the words of an error of ours. */
static void print_start_error(const struct cli *cli, const struct microagent_outcome *outcome)
{
	struct error err;

	error_set(&err, outcome->exit_code == EXIT_NOT_FOUND ? ERR_NOT_FOUND : ERR_IO, "%s",
		  outcome->start_error);
	if (outcome->exit_code == EXIT_NOT_EXECUTABLE)
		err.code = ERR_DENIED;
	cli_print_error(cli, &err, stderr);
}

static void print_timed_out(const struct cli *cli, int64_t timeout)
{
	struct error err;

	error_set(&err, ERR_TIMEOUT, "the command was killed: its timeout of %" PRId64 " s passed",
		  timeout);
	cli_print_error(cli, &err, stderr);
}

int attend_exit_code(const struct cli *cli, const struct microagent_outcome *outcome,
		     int64_t timeout, struct signals *signals)
{
	switch (outcome->end) {
	case MICROAGENT_CANCELLED:
		return 128 + signals_that_came(signals);
	case MICROAGENT_DETACHED:
		return CLI_EXIT_OK;
	case MICROAGENT_OUT_CLOSED:
		return 128 + SIGPIPE;
	case MICROAGENT_EXITED:
		break;
	}
	if (outcome->start_error[0])
		print_start_error(cli, outcome);
	else if (outcome->timed_out)
		print_timed_out(cli, timeout);
	return outcome->exit_code;
}

/* The file of --stdin: -1 without one; -2 on failure. */
static int open_file(const char *path, struct error *err)
{
	struct stat st;

	if (!path)
		return -1;
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		error_errno(err, errno, "--stdin: cannot open %.300s", path);
		return -2;
	}
	if (S_ISDIR(st.st_mode)) {
		error_set(err, ERR_INVALID, "--stdin: %.300s is a directory", path);
		return -2;
	}
	return steal_fd(&fd);
}

/* One attended command. */
struct session {
	const struct cli *cli;
	const struct attend *how;
	attend_fn *fn;
	void *data;
	int in;
	struct signals signals;
	struct capture capture;
};

static void tell_paused(void *data, const char *why)
{
	const struct session *s = data;

	guest_warn(s->cli, "%s", why ? why : "the machine goes on");
}

static int call(struct session *s, const struct microagent_terminal *terminal,
		struct microagent_outcome *outcome, struct error *err)
{
	const struct microagent_signals signals = {s->signals.fd, signals_next, &s->signals};
	const struct microagent_sink sink = {capture_take, &s->capture};
	const struct microagent_streams streams = {
		.in = s->in,
		.out = STDOUT_FILENO,
		.err = STDERR_FILENO,
		.cancel = -1,
		.signals = &signals,
		.sink = s->cli->json ? &sink : NULL,
		.paused = tell_paused,
		.paused_data = s,
	};

	return s->fn(s->data, &streams, terminal, outcome, err);
}

/* On our terminal, if there is one: raw when it is what is typed on. */
static int call_on_terminal(struct session *s, struct microagent_outcome *outcome,
			    struct error *err)
{
	struct terminal near;
	int result = -1;

	if (terminal_open(&near, s->in, STDOUT_FILENO, err) < 0)
		return -1;
	const struct microagent_terminal terminal = {
		.resized = near.resized, .size = terminal_size, .data = &near, .escape = -1};

	result = call(s, &terminal, outcome, err);
	terminal_restore(&near);
	return result;
}

static int run_session(struct session *s, struct error *err)
{
	struct microagent_outcome outcome = {0};
	int code;

	if (signals_open_forwarded(&s->signals, err) < 0)
		return -1;
	if ((s->how->terminal ? call_on_terminal(s, &outcome, err) : call(s, NULL, &outcome, err)) <
	    0)
		return -1;
	code = attend_exit_code(s->cli, &outcome, s->how->timeout, &s->signals);
	if (s->cli->json && capture_print(&s->capture, &outcome, code, err) < 0)
		return -1;
	return code;
}

int attend(const struct cli *cli, const struct attend *how, attend_fn *fn, void *data,
	   struct error *err)
{
	struct session session = {
		.cli = cli, .how = how, .fn = fn, .data = data, .in = -1, .signals = SIGNALS_NONE};
	autoclose int file = open_file(how->input.file, err);
	int code;

	if (file == -2)
		return -1;
	/* A person who asks for a terminal means to type on it. */
	if (file >= 0)
		session.in = file;
	else if (how->input.interactive || (how->terminal && isatty(STDIN_FILENO) == 1))
		session.in = STDIN_FILENO;
	code = run_session(&session, err);
	signals_close(&session.signals);
	capture_free(&session.capture);
	return code;
}
