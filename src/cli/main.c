/* SPDX-License-Identifier: MIT */
/* The command line of microagent. The only place that prints errors and knows exit codes. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"

static int exit_code(const struct cli *cli, const struct error *err, bool guest_exit)
{
	if (cli->usage_error)
		return CLI_EXIT_USAGE;
	if (guest_exit)
		return CLI_EXIT_OURS;
	if (err->code == ERR_UNAVAILABLE || err->code == ERR_TIMEOUT)
		return CLI_EXIT_RETRY;
	return CLI_EXIT_FAILED;
}

int main(int argc, char **argv)
{
	struct cli cli = {0};
	struct error err = {0};
	bool guest_exit = false;
	int code;

	signal(SIGPIPE, SIG_IGN);
	/* Looked at before the gap is filled: what a command says must not vanish in /dev/null. */
	cli.stdout_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
	if (fd_fill_standard(&err) < 0)
		return CLI_EXIT_FAILED;
	code = cli_dispatch(&cli, (const char *const *)argv + (argc > 0),
			    argc > 0 ? (size_t)argc - 1 : 0, &guest_exit, &err);
	if (code < 0) {
		/* stdout of run and exec is the guest command's. */
		cli_print_error(&cli, &err, cli.json && !guest_exit ? stdout : stderr);
		code = exit_code(&cli, &err, guest_exit);
	}
	/* A full disk below our stdout must not pass as success. */
	if (fflush(stdout) != 0 && code == CLI_EXIT_OK)
		code = CLI_EXIT_FAILED;
	return code;
}
