/* SPDX-License-Identifier: MIT */
/*
 * Runs a command in a running workspace: exec WORKSPACE COMMAND...
 *
 *     cc -o exec exec.c $(pkg-config --cflags --libs microagent)
 */
#include <microagent.h>
#include <stdio.h>

static int run(struct microagent_guest *guest, const char *const *command)
{
	const struct microagent_exec exec = {.command = command};
	const struct microagent_run_limits limits = {.timeout_ms = 60000};
	struct microagent_result result;
	struct error err;
	int code;

	if (microagent_guest_run(guest, &exec, &limits, &result, &err) < 0) {
		fprintf(stderr, "exec: %s (%s)\n", err.msg, microagent_error_name(err.code));
		return 125;
	}
	fwrite(result.stdout_bytes, 1, result.stdout_len, stdout);
	fwrite(result.stderr_bytes, 1, result.stderr_len, stderr);
	if (result.start_error[0])
		fprintf(stderr, "exec: %s\n", result.start_error);
	code = result.exit_code;
	microagent_result_free(&result);
	return code;
}

int main(int argc, char **argv)
{
	struct error err = {0};
	struct microagent *agent = argc > 2 ? microagent_open(NULL, &err) : NULL;
	struct microagent_guest *guest =
		agent ? microagent_connect(agent, argv[1], 30000, &err) : NULL;
	int code = 125;

	if (guest)
		code = run(guest, (const char *const *)argv + 2);
	else
		fprintf(stderr, "exec: %s\n", argc > 2 ? err.msg : "exec WORKSPACE COMMAND...");
	microagent_guest_close(guest);
	microagent_close(agent);
	return code;
}
