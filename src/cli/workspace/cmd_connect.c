/* SPDX-License-Identifier: MIT */
/* connect: opens a shell in a guest, or the guest's serial console, on the user's terminal. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "cli/terminal/attend.h"
#include "cli/terminal/serial.h"
#include "cli/terminal/terminal.h"
#include "cli/workspace/connect.h"

const struct cli_option connect_options[] = {
	{"user", 'u', CLI_OPTION_GUEST, offsetof(struct connect_values, user), "USER",
	 "user of the shell (default: the image's user, else uid 1000)", 0, 0},
	{"send", 0, CLI_OPTION_STRING, offsetof(struct connect_values, send), "LINE",
	 "run this line by the guest's sh, print its output, exit with its code", 0, 0},
	{"timeout", 0, CLI_OPTION_INT, offsetof(struct connect_values, timeout), "SECONDS",
	 "with --send: end the line after this time, with exit code 124", 1, INT32_MAX},
	{"serial", 0, CLI_OPTION_FLAG, offsetof(struct connect_values, serial), NULL,
	 "connect to the serial console instead of a shell", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct connect {
	struct cli *cli;
	const struct connect_values *values;
	struct microagent *agent;
	const char *name; /* the name of the workspace or session, as the user typed it */
	char id[GUEST_ID_ROOM];
	struct signals signals;
};

/* Prints a message to a user at a terminal. Prints nothing if stderr is not a terminal, since a
 * pipe must get only the bytes of the guest. */
static void say_on_terminal(const struct connect *connect, const char *what)
{
	if (isatty(STDERR_FILENO) == 1)
		fprintf(stderr, "\r[%s: %s]\r\n", connect->name, what);
}

static void say_connected(void *data)
{
	say_on_terminal(data, "connected, Ctrl-] detaches");
}

/* Runs a shell. `terminal` is the user's raw terminal, which is restored before a message is
 * printed on it. NULL: no terminal was made raw. */
static int run_agent_shell(struct connect *connect, const struct microagent_exec *exec, int in,
			   struct terminal *terminal, struct error *err)
{
	/* the output for --json, which is allowed only together with --send */
	struct capture capture = {0};
	const struct microagent_sink sink = {capture_take, &capture};
	const struct microagent_streams streams = {.in = in,
						   .out = STDOUT_FILENO,
						   .err = STDERR_FILENO,
						   .cancel = connect->signals.fd,
						   .sink = connect->cli->json ? &sink : NULL};
	uint64_t read_by_ns = attend_read_by(exec->timeout_seconds);
	struct microagent_outcome outcome;
	int result = microagent_exec(connect->agent, connect->id, exec, &streams, &outcome, err);
	int code = -1, signal;

	if (terminal)
		terminal_restore(terminal);
	if (result == 0) {
		if (outcome.end == MICROAGENT_DETACHED)
			say_on_terminal(connect, "detached");
		signal = signals_that_came(&connect->signals);
		signals_give_back(&connect->signals);
		code = attend_exit_code(connect->cli, &outcome, exec->timeout_seconds, signal);
		if (connect->cli->json)
			code = attend_print_captured(connect->cli, &capture, &outcome, code,
						     exec->timeout_seconds, read_by_ns, err);
	}
	capture_free(&capture);
	return code;
}

static int shell(struct connect *connect, struct error *err)
{
	static const char *const command[] = {"/bin/sh", "-c", "exec \"${SHELL:-/bin/sh}\" -l",
					      NULL};
	struct terminal terminal;

	if (terminal_raw(&terminal, STDIN_FILENO, err) < 0)
		return -1;
	const struct microagent_terminal near = {terminal.resized, terminal_size, &terminal,
						 TERMINAL_ESCAPE,  say_connected, connect};
	const struct microagent_exec exec = {
		.command = command, .user = connect->values->user, .terminal = &near};

	return run_agent_shell(connect, &exec, STDIN_FILENO, &terminal, err);
}

/* Returns true if the console can be opened again. The open fails if the machine or its console has
 * ended. If another user is connected to the console, the open succeeds, but the new connection is
 * closed later. */
static bool is_there_still(const struct connect *connect)
{
	struct error ignored;
	autoclose int again = microagent_console_open(connect->agent, connect->id, &ignored);

	return again >= 0;
}

/* Prints why the console was closed: the machine has ended, the machine is in quarantine, or
 * another user is connected. */
static int explain_closed(const struct connect *connect, bool heard, struct error *err)
{
	json_auto_t *response = NULL;
	const char *state;

	if (microagent_status(connect->agent, connect->id, &response, NULL) < 0)
		return CLI_EXIT_OK;
	state = json_text(json_object_get(response, "event"), "state", NULL);
	if (!heard && state && strcmp(state, "running") == 0 && is_there_still(connect))
		return error_set(
			err, ERR_UNAVAILABLE,
			"somebody else is connected to the serial console of \"%s\": it has one user at a time, and `microagent logs -f %s` shows its output to everybody",
			connect->name, connect->name);
	say_on_terminal(connect, "the console was closed");
	return CLI_EXIT_OK;
}

static int serial_with(struct connect *connect, int console, bool is_terminal, struct error *err)
{
	enum serial_end end = SERIAL_CLOSED;
	bool heard = false;

	if (serial_run(console, STDIN_FILENO, STDOUT_FILENO, connect->signals.fd,
		       is_terminal ? TERMINAL_ESCAPE : -1, &end, &heard, err) < 0)
		return -1;
	switch (end) {
	case SERIAL_DETACHED:
		say_on_terminal(connect, "detached");
		return CLI_EXIT_OK;
	case SERIAL_CANCELLED:
		return 128 + signals_that_came(&connect->signals);
	case SERIAL_OUT_CLOSED:
		return 128 + SIGPIPE;
	case SERIAL_CLOSED:
		break;
	}
	return explain_closed(connect, heard, err);
}

static int serial(struct connect *connect, struct error *err)
{
	bool is_terminal = isatty(STDIN_FILENO) == 1;
	struct terminal terminal;
	autoclose int console = microagent_console_open(connect->agent, connect->id, err);
	int code;

	if (console < 0)
		return -1;
	say_on_terminal(connect, "serial console, Ctrl-] detaches");
	if (is_terminal && terminal_raw(&terminal, STDIN_FILENO, err) < 0)
		return -1;
	code = serial_with(connect, console, is_terminal, err);
	if (is_terminal)
		terminal_restore(&terminal);
	return code;
}

static int check_connect_words(struct cli *cli, const struct connect_values *v, const char *name,
			       struct error *err)
{
	if (v->serial && (v->send || v->user))
		return cli_usage(
			cli, err,
			"--serial does not work with --send or --user, because the serial console is not a user's shell: leave one of them out");
	if (v->timeout && !v->send)
		return cli_usage(cli, err,
				 "--timeout needs --send: give both, or leave --timeout out");
	if (cli->json && !v->send)
		return cli_usage(
			cli, err,
			"--json does not work with connect, which opens a terminal in the guest and prints no JSON: leave --json out");
	return guest_check_name(cli, name, err);
}

int connect_run(struct cli *cli, const struct connect_values *values, const char *name,
		guest_open_fn *open, struct error *err)
{
	const char *exec = open == guest_open_session ? "session exec" : "exec";
	/* Runs the line as a command with streams and an exit code. So the output of a terminal
	 * need not be parsed. */
	const char *const line[] = {"/bin/sh", "-c", values->send, NULL};
	const struct microagent_exec sent = {
		.command = line, .user = values->user, .timeout_seconds = values->timeout};
	struct connect connect = {
		.cli = cli, .values = values, .name = name, .signals = SIGNALS_NONE};
	int code = -1;

	if (check_connect_words(cli, values, name, err) < 0)
		return -1;
	connect.agent = open(cli, NULL, name, connect.id, err);
	if (connect.agent && !values->serial && !values->send && isatty(STDIN_FILENO) != 1) {
		code = cli_usage(
			cli, err,
			"stdin is not a terminal: `microagent %s %s --send LINE` runs one line, `microagent %s %s` a command",
			cli->words, name, exec, name);
	} else if (connect.agent && signals_open_ending(&connect.signals, err) == 0) {
		if (values->serial)
			code = serial(&connect, err);
		else if (values->send)
			code = run_agent_shell(&connect, &sent, -1, NULL, err);
		else
			code = shell(&connect, err);
		code = signals_end_command(cli, &connect.signals, code, err);
	}
	session_tell_end(cli, name, connect.agent ? connect.id : NULL, code);
	microagent_close(connect.agent);
	return code;
}

static int run_connect(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	return connect_run(cli, values, args->items[0], guest_open_at, err);
}

const struct cli_command cli_connect = {
	.name = "connect",
	.args = "NAME",
	.summary = "a shell in a running workspace or session, or its serial console",
	.help = "A login shell on a terminal of its own in the guest, which follows the size of your\n"
		"window. Ctrl-] detaches, which ends the shell. The exit code is the shell's.\n\n"
		"With --serial: the serial console, where the guest's kernel writes its messages. In a\n"
		"workspace that was made with --console shell a root shell runs there. Else no shell\n"
		"does, and what is typed reaches the program that reads the console in the guest. One\n"
		"user at a time can have it. It shows what comes from now on; `microagent logs` has the\n"
		"rest.\n",
	.group = CLI_GROUP_RUN,
	.options = connect_options,
	.values_size = sizeof(struct connect_values),
	.min_args = 1,
	.max_args = 1,
	.guest_exit = true,
	.run = run_connect,
};
