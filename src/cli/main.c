/* SPDX-License-Identifier: MIT */
/* The command line of microagent. Only this file prints errors and knows exit codes. */
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

/* Opens missing standard descriptors. The output of a command must not vanish: if there is no
 * stdout, writing to it fails. */
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

/* Flushes stdout. A full disk must not look like success. If the reader has gone away, the exit
 * code is the shell's code for SIGPIPE, which this program ignores. */
static int end_stdout(const struct cli *cli, int code)
{
	struct error err;

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (cli->stdout_errnum) /* an output that failed earlier is not tried again */
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
	/* from ulimit -f; without the signal the write fails with EFBIG, which is reported */
	signal(SIGXFSZ, SIG_IGN);
	if (fill_standard(&cli, &err) < 0 || program_clean_path(&err) < 0)
		return CLI_EXIT_FAILED;
	cli_speaks(&cli);
	code = cli_dispatch(&cli, (const char *const *)argv + (argc > 0),
			    argc > 0 ? (size_t)argc - 1 : 0, &guest_exit, &err);
	if (code < 0) {
		/* stdout of run and exec is the guest command's. */
		FILE *out = cli.json && !guest_exit ? stdout : stderr;
		bool told = out == stderr && ferror(stdout);

		cli_print_error(&cli, &err, out);
		code = exit_code_of(&cli, &err, guest_exit);
		if (told)
			return code;
	}
	return end_stdout(&cli, code);
}
