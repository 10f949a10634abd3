/* SPDX-License-Identifier: MIT */
#include "cli/terminal/attend.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/options/guest.h"
#include "cli/output/hint.h"

/* The exit codes by which a shell reports a command that cannot be run, and a command that does not
 * exist. */
enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

int attend_check(struct cli *cli, const struct attend *how, struct error *err)
{
	if (how->input.interactive && how->input.file)
		return cli_usage(
			cli, err,
			"--stdin and --interactive both say where stdin comes from: give one of them");
	if (how->terminal && cli->json)
		return cli_usage(
			cli, err,
			"--json does not work with --tty, because the command then writes to a terminal and prints no JSON: leave one of them out");
	return 0;
}

void attend_say_unread(const struct cli *cli, int64_t timeout)
{
	struct error err;

	error_set(&err, ERR_TIMEOUT,
		  "the timeout of %lld s passed, and output that nobody had read was dropped",
		  (long long)timeout);
	if (cli_stderr_is_read())
		cli_print_error(cli, &err, stderr);
}

int attend_exit_code(const struct cli *cli, const struct microagent_outcome *outcome,
		     int64_t timeout, int signal)
{
	struct error err;

	switch (outcome->end) {
	case MICROAGENT_CANCELLED:
		if (outcome->unread && cli_stderr_is_read())
			cli_warn(
				"the command was ended, and output that nobody had read was dropped");
		return 128 + signal;
	case MICROAGENT_DETACHED:
		return CLI_EXIT_OK;
	case MICROAGENT_OUT_CLOSED:
		return 128 + SIGPIPE;
	case MICROAGENT_EXITED:
		break;
	}
	if (outcome->start_error[0]) {
		error_set(&err,
			  outcome->exit_code == EXIT_NOT_FOUND	      ? ERR_NOT_FOUND
			  : outcome->exit_code == EXIT_NOT_EXECUTABLE ? ERR_DENIED
								      : ERR_IO,
			  "%s", outcome->start_error);
		cli_print_error(cli, &err, stderr);
	} else if (outcome->unread) {
		attend_say_unread(cli, timeout);
	} else if (outcome->timed_out) {
		error_set(&err, ERR_TIMEOUT, "the command was killed: its timeout of %lld s passed",
			  (long long)timeout);
		cli_print_error(cli, &err, stderr);
	}
	return outcome->exit_code;
}

/* Opens the file of --stdin. Returns a descriptor; -1 if the option was not given; -2 on error. */
static int open_stdin_file(const char *path, struct error *err)
{
	struct stat st;

	if (!path)
		return -1;
	/* Opens without blocking, since a FIFO may have no writer yet. Later the program waits for
	 * the writer and for the end of the command at the same time. */
	autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		error_errno(err, errno, "--stdin: cannot open %.300s", path);
		return -2;
	}
	if (S_ISDIR(st.st_mode)) {
		error_set(err, ERR_INVALID, "--stdin: %.300s is a directory: give a file", path);
		return -2;
	}
	return steal_fd(&fd);
}

static void tell_paused(void *data, const struct error *why)
{
	const struct attended *attended = data;
	char hint[HINT_ROOM] = "";

	if (why)
		hint_find(attended->cli, why->reason, why->subject, hint);
	guest_warn(attended->cli, "%s%s%s", why ? why->msg : "the machine goes on",
		   *hint ? ": " : "", hint);
}

static void attended_close(struct attended *a)
{
	cleanup_close(&a->file);
	signals_close(&a->signals);
	capture_free(&a->capture);
}

int attend_begin(struct attended *attended, const struct cli *cli, const struct attend *how,
		 struct error *err)
{
	int file = open_stdin_file(how->input.file, err), in = file;

	if (file == -2)
		return -1;
	*attended = (struct attended){.cli = cli,
				      .timeout = how->timeout,
				      .read_by_ns = attend_read_by(how->timeout),
				      .file = file,
				      .signals = SIGNALS_NONE};
	/* A user who asks for a terminal also wants to type, if stdin is a terminal. */
	if (in < 0 && (how->input.interactive || (how->terminal && isatty(STDIN_FILENO) == 1)))
		in = STDIN_FILENO;
	/* Makes the terminal raw if the user types on it. Does this before the signals are blocked:
	 * in the background, terminal_open() waits for the terminal, and a signal must be able to
	 * end the wait. Nothing has begun yet that would need a cleanup. */
	if (how->terminal && terminal_open(&attended->near, in, STDOUT_FILENO, err) < 0)
		goto failed;
	if (signals_open_forwarded(&attended->signals, err) < 0) {
		if (how->terminal)
			terminal_restore(&attended->near);
		goto failed;
	}
	attended->their_signals =
		(struct microagent_signals){attended->signals.fd, signals_next, &attended->signals};
	attended->sink = (struct microagent_sink){capture_take, &attended->capture};
	attended->streams = (struct microagent_streams){
		.in = in,
		.out = STDOUT_FILENO,
		.err = STDERR_FILENO,
		.cancel = -1,
		.signals = &attended->their_signals,
		.sink = cli->json ? &attended->sink : NULL,
		.paused = tell_paused,
		.paused_data = attended,
	};
	if (!how->terminal)
		return 0;
	attended->their_terminal = (struct microagent_terminal){.resized = attended->near.resized,
								.size = terminal_size,
								.data = &attended->near,
								.escape = -1};
	attended->terminal = &attended->their_terminal;
	return 0;
failed:
	attended_close(attended);
	return -1;
}

uint64_t attend_read_by(int64_t timeout)
{
	return timeout ? clock_mono_ns() + (uint64_t)timeout * NS_PER_S : UINT64_MAX;
}

int attend_print_captured(const struct cli *cli, const struct capture *capture,
			  const struct microagent_outcome *outcome, int code, int64_t timeout,
			  uint64_t read_by_ns, struct error *err)
{
	int got = capture_print(capture, outcome, code, read_by_ns, err);

	if (got <= 0)
		return got < 0 ? -1 : code;
	attend_say_unread(cli, timeout);
	return CLI_EXIT_TIMEOUT;
}

int attend_end(struct attended *attended, int status, const struct microagent_outcome *outcome,
	       struct error *err)
{
	int code = -1, signal;

	if (attended->terminal)
		terminal_restore(&attended->near);
	signal = signals_that_came(&attended->signals);
	signals_give_back(&attended->signals);
	if (status == 0)
		code = attend_exit_code(attended->cli, outcome, attended->timeout, signal);
	if (status == 0 && attended->cli->json)
		code = attend_print_captured(attended->cli, &attended->capture, outcome, code,
					     attended->timeout, attended->read_by_ns, err);
	attended_close(attended);
	return code;
}
