/* SPDX-License-Identifier: MIT */
/* logs: prints what the guest's kernel and agent have written to the serial console. */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/print_safe.h"
#include "cli/options/guest.h"

/* The exit code by which a shell reports a program that SIGPIPE has ended. The command `run`
 * returns this exit code too. */
#define EXIT_OUT_CLOSED (128 + SIGPIPE)

struct logs_values {
	bool follow;
};

static const struct cli_option logs_options[] = {
	{"follow", 'f', CLI_OPTION_FLAG, offsetof(struct logs_values, follow), NULL,
	 "go on and print what is new, until the machine has ended", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct logs {
	struct microagent *agent;
	const char *name;
	int fd;
	off_t at;
	/* true: stdout is a terminal, which must not get the guest's escape sequences */
	bool terminal;
	struct utf8_reader reader;
};

/* Refuses a log that is much too large. An attacker who controls a live supervisor could leave a
 * sparse file that takes days to print. A log may exceed its limit for a moment, so twice the limit
 * is allowed, as with --json. */
static int require_usual_size(off_t size, struct error *err)
{
	const uint64_t kept = limit_get(LIMIT_SERIAL_LOG_BYTES);

	if (size < 0 || (uint64_t)size <= 2 * kept)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"serial.log has %lld bytes, but microagent writes at most %llu to it: the file is not printed, because another program has written to it",
		(long long)size, (unsigned long long)kept);
}

/* Prints the log from logs->at to its end. `last` is true if no more bytes will come. Returns 1 if
 * the reader of stdout has closed it, and -1 on error. */
static int print_new_bytes(struct logs *logs, bool last, struct error *err)
{
	char text[65536];
	ssize_t n, done = 1;
	struct stat st;

	if (fstat(logs->fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (require_usual_size(st.st_size, err) < 0)
			return -1;
		/* The oldest half of the log is dropped from time to time. The old position then no
		 * longer exists, and printing goes on at the new end. */
		if (st.st_size < logs->at)
			logs->at = st.st_size;
	}
	while (done > 0 && (n = pread(logs->fd, text, sizeof(text), logs->at)) > 0) {
		struct error why = {0};

		if (logs->terminal) {
			/* Does not print an incomplete character at the end: it is printed by the
			 * next call. */
			done = (ssize_t)print_safe_lines(&logs->reader, stdout, text, (size_t)n,
							 last && (size_t)n < sizeof(text));
			if (fflush(stdout) != 0)
				done = error_errno(&why, errno, "stdout");
		} else {
			done = fd_write_all(STDOUT_FILENO, text, (size_t)n, &why) < 0 ? -1 : n;
		}
		if (done < 0 && why.errnum == EPIPE)
			return 1;
		if (done < 0) {
			*err = why;
			return error_prefix(err, "cannot write to stdout");
		}
		logs->at += done;
	}
	/* Treats ESPIPE as the end of the log. /dev/null is open in place of a missing log, and
	 * pread() fails on it with ESPIPE. */
	return done > 0 && n < 0 && errno != ESPIPE ? error_errno(err, errno, "serial.log") : 0;
}

/* Opens the log again if it did not exist before, since it may exist now. */
static int reopen(struct logs *logs, struct error *err)
{
	struct stat st;
	int fd;

	if (fstat(logs->fd, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	fd = microagent_log_open(logs->agent, logs->name, err);
	if (fd < 0)
		return -1;
	close(logs->fd);
	logs->fd = fd;
	return 0;
}

/* Prints the log, and later what is added to it, until the machine has ended. The caller has opened
 * `watch` before it read the log for the first time, so that no output is missed. */
static int follow_log_until(struct logs *logs, int watch, int cancel, struct error *err)
{
	bool running;

	if (microagent_is_running(logs->agent, logs->name, &running, err) < 0)
		return -1;
	for (;;) {
		bool last = !running;
		int got = print_new_bytes(logs, last, err);

		if (got != 0)
			return got < 0 ? -1 : EXIT_OUT_CLOSED;
		if (last)
			return CLI_EXIT_OK;
		got = microagent_log_wait(logs->agent, logs->name, watch, STDOUT_FILENO, cancel,
					  &running, err);
		if (got != 0)
			return got < 0 ? -1 : EXIT_OUT_CLOSED;
		if (reopen(logs, running ? err : NULL) < 0)
			return running ? -1 : CLI_EXIT_OK;
	}
}

static int run_logs(struct cli *cli, const void *values, const struct cli_words *args,
		    struct error *err)
{
	const struct logs_values *v = values;
	char id[GUEST_ID_ROOM];
	struct logs logs = {.name = id, .terminal = isatty(STDOUT_FILENO) == 1};
	autobuf struct buf text = BUF_INIT(2 * limit_get(LIMIT_SERIAL_LOG_BYTES));
	json_auto_t *answer = NULL;
	int code = -1, watch, got;

	if (v->follow && cli->json)
		return cli_usage(
			cli, err,
			"--follow and --json exclude each other: --follow prints lines as they come, --json prints one document");
	if (guest_check_name(cli, args->items[0], err) < 0)
		return -1;
	logs.agent = guest_open_at(cli, NULL, args->items[0], id, err);
	if (!logs.agent)
		return -1;
	logs.fd = microagent_log_open(logs.agent, logs.name, err);
	if (logs.fd < 0) {
		microagent_close(logs.agent);
		return -1;
	}
	if (v->follow) {
		watch = microagent_log_watch(logs.agent, id, err);
		if (watch >= 0) {
			code = follow_log_until(&logs, watch, -1, err);
			microagent_log_unwatch(watch);
		}
	} else if (cli->json) {
		answer = json_object();
		if (fd_read_to_end(logs.fd, &text, err) == 0 &&
		    json_put(answer, "logs", json_string_lossy(buf_bytes(&text), text.len), err) ==
			    0)
			code = cli_print_json(answer, err);
	} else {
		got = print_new_bytes(&logs, true, err);
		code = got < 0 ? -1 : got > 0 ? EXIT_OUT_CLOSED : CLI_EXIT_OK;
	}
	close(logs.fd);
	microagent_close(logs.agent);
	return code;
}

const struct cli_command cli_logs = {
	.name = "logs",
	.args = "NAME",
	.summary = "the guest's serial console, of every boot",
	.help = "With --json: {\"logs\": TEXT}.\n",
	.group = CLI_GROUP_OBSERVE,
	.options = logs_options,
	.values_size = sizeof(struct logs_values),
	.min_args = 1,
	.max_args = 1,
	.run = run_logs,
};
