/* SPDX-License-Identifier: MIT */
/* The main program. Only this file prints errors and chooses exit codes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/program.h"
#include "cli/cli.h"

#define OUT_CLOSED (128 + SIGPIPE)

static int exit_code_of(const struct cli *cli, const struct error *err, bool guest_exit)
{
	if (cli->usage_error)
		return CLI_EXIT_USAGE;
	if (guest_exit)
		return CLI_EXIT_OURS;
	if (err->code == ERR_UNAVAILABLE || err->code == ERR_TIMEOUT)
		return CLI_EXIT_RETRY;
	return CLI_EXIT_FAILED;
}

/* Opens the standard descriptors that are closed. If stdout was closed, a write to it must fail,
 * since the output of a command must not be lost without an error. */
static int fill_standard(struct cli *cli, struct error *err)
{
	int nothing;

	cli->stdout_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
	if (fd_fill_standard(err) < 0)
		return -1;
	if (!cli->stdout_closed)
		return 0;
	nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing < 0 || dup2(nothing, STDOUT_FILENO) < 0)
		return error_errno(err, errno, "stdout");
	close(nothing);
	return 0;
}

/* Flushes stdout and returns the exit code. If stdout cannot be written, for example because the
 * disk is full, the exit code is not 0. If the reader of stdout has closed it, the exit code is the
 * one that a shell reports for SIGPIPE. This program itself ignores SIGPIPE. */
static int end_stdout(const struct cli *cli, int code)
{
	struct error err;

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (cli->stdout_errnum) /* the errno of an earlier write that has failed */
		errno = cli->stdout_errnum;
	if (errno == EPIPE || code == OUT_CLOSED)
		return code == CLI_EXIT_OK ? OUT_CLOSED : code;
	error_errno(&err, errno ? errno : EIO, "cannot write to stdout");
	cli_print_error(cli, &err, stderr);
	return code == CLI_EXIT_OK ? CLI_EXIT_FAILED : code;
}

int main(int argc, char **argv)
{
	struct cli cli = {0};
	struct error err = {0};
	bool guest_exit = false;
	int code;

	signal(SIGPIPE, SIG_IGN);
	/* Ignores the signal that a write above the limit of `ulimit -f` causes. The write then
	 * fails with EFBIG, which is reported. */
	signal(SIGXFSZ, SIG_IGN);
	if (fill_standard(&cli, &err) < 0 || program_clean_path(&err) < 0)
		return CLI_EXIT_FAILED;
	cli_speaks(&cli);
	code = cli_dispatch(&cli, (const char *const *)argv + (argc > 0),
			    argc > 0 ? (size_t)argc - 1 : 0, &guest_exit, &err);
	if (code < 0) {
		/* Uses stderr for `run` and `exec`: their stdout belongs to the guest's command. */
		FILE *out = cli.json && !guest_exit ? stdout : stderr;
		bool told = out == stderr && ferror(stdout);

		cli_print_error(&cli, &err, out);
		code = exit_code_of(&cli, &err, guest_exit);
		if (told)
			return code;
	}
	return end_stdout(&cli, code);
}
