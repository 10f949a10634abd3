/* SPDX-License-Identifier: MIT */
/* Prints answers, warnings and errors for the user. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/descriptor.h"
#include "base/print_safe.h"
#include "cli/cli.h"
#include "cli/output/hint.h"

int cli_usage(struct cli *cli, struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	cli->usage_error = true;
	return error_set(err, ERR_INVALID, "%s", text);
}

int cli_usage_error(struct cli *cli, const struct error *why, struct error *err)
{
	cli->usage_error = true;
	error_copy(err, why);
	if (err)
		err->code = ERR_INVALID;
	return -1;
}

static bool is_of_sessions(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return strcmp(slash ? slash + 1 : dir, "sessions") == 0;
}

static const struct cli *speaker; /* the cli of the last cli_speaks(); NULL: none yet */

void cli_speaks(const struct cli *cli)
{
	speaker = cli;
}

const char *cli_itself(const struct cli *cli, char out[CLI_ITSELF])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "/._-+:,@%";
	const struct cli *who = cli ? cli : speaker;
	const char *dir = who ? who->state_dir_option : NULL;
	const char *quote = dir && dir[strspn(dir, plain)] ? "'" : "";

	if (!dir || is_of_sessions(dir))
		snprintf(out, CLI_ITSELF, "microagent");
	else if (strchr(dir, '\'') || strlen(dir) > CLI_ITSELF / 2)
		snprintf(out, CLI_ITSELF, "microagent --state-dir DIR");
	else
		snprintf(out, CLI_ITSELF, "microagent --state-dir %s%s%s", quote, dir, quote);
	return out;
}

int cli_print_json(const json_t *value, struct error *err)
{
	autofree char *line = json_line(value, err);

	if (!line)
		return -1;
	if (printf("%s\n", line) < 0 || fflush(stdout) != 0)
		return error_errno(err, errno, "cannot write to stdout");
	return 0;
}

static bool can_write(int fd, uint64_t deadline_ns)
{
	struct pollfd slot = {.fd = fd, .events = POLLOUT};
	int got;

	do
		got = descriptor_poll(&slot, 1, deadline_ns);
	while (got < 0 && errno == EINTR);
	/* Returns true also if the descriptor is broken: poll() reports that, and the write that
	 * follows fails with the reason. */
	return got != 0;
}

/* Returns the time on clock_mono_ns() until which the program waits for a slow reader. It is
 * LIMIT_UNREAD_MS from now, but not before `read_by_ns` and not after `last_ns`. */
static uint64_t give_up_ns(uint64_t read_by_ns, uint64_t last_ns)
{
	uint64_t patient = limit_deadline(LIMIT_UNREAD_MS);

	if (read_by_ns > patient)
		return read_by_ns;
	return patient < last_ns ? patient : last_ns;
}

int cli_write_by(FILE *out, const void *bytes, size_t len, uint64_t read_by_ns)
{
	uint64_t now = clock_mono_ns(), from = read_by_ns > now ? read_by_ns : now;
	uint64_t last = read_by_ns == UINT64_MAX ? UINT64_MAX
						 : from + limit_get(LIMIT_EXEC_LATE_MS) * NS_PER_MS;
	const char *at = bytes;

	while (len > 0) {
		/* Writes at most PIPE_BUF bytes: when poll() reports that a pipe can be written,
		 * the pipe has room for these bytes. */
		size_t some = len < PIPE_BUF ? len : PIPE_BUF;

		if (!can_write(fileno(out), give_up_ns(read_by_ns, last)))
			return 1;
		if (fwrite(at, 1, some, out) != some || fflush(out) != 0)
			return -1;
		at += some;
		len -= some;
	}
	return 0;
}

int cli_print_json_by(const json_t *value, uint64_t read_by_ns, struct error *err)
{
	autofree char *line = json_line(value, err);
	size_t len = line ? strlen(line) : 0;
	int got;

	if (!line)
		return -1;
	line[len] = '\n'; /* the newline replaces the NUL */
	got = cli_write_by(stdout, line, len + 1, read_by_ns);
	return got < 0 ? error_errno(err, errno, "cannot write to stdout") : got;
}

bool cli_stderr_is_read(void)
{
	return can_write(STDERR_FILENO, 0);
}

void cli_print_safe(FILE *out, const char *text)
{
	print_safe(out, text);
}

static void print_error_json(const struct error *err, const char *hint, FILE *out)
{
	json_auto_t *answer = json_object();
	autofree char *line = NULL;

	json_put(answer, "ok", json_false(), NULL);
	json_put_error(answer, err, NULL);
	if (*hint)
		json_put(answer, "hint", json_string_lossy(hint, strlen(hint)), NULL);
	line = json_line(answer, NULL);
	fprintf(out, "%s\n", line ? line : "{\"ok\":false}");
}

static void print_line(FILE *out, const char *kind, const char *text)
{
	fprintf(out, "microagent: %s", kind);
	cli_print_safe(out, text);
	putc('\n', out);
}

void cli_print_error(const struct cli *cli, const struct error *err, FILE *out)
{
	struct error said = *err;
	char hint[HINT_ROOM];

	hint_find(cli, err->reason, err->subject, hint);
	hint_name_commands(err->msg, said.msg, sizeof(said.msg));
	if (cli->json) {
		print_error_json(&said, hint, out);
		return;
	}
	print_line(out, "", said.msg);
	if (*hint)
		print_line(out, "hint: ", hint);
}

void cli_warn(const char *fmt, ...)
{
	char text[1024], said[sizeof(text) + CLI_ITSELF];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	hint_name_commands(text, said, sizeof(said));
	print_line(stderr, "warning: ", said);
}

void cli_warn_error(const struct cli *cli, const char *before, const struct error *err)
{
	char hint[HINT_ROOM];

	hint_find(cli, err->reason, err->subject, hint);
	cli_warn("%s%s", before, err->msg);
	if (*hint)
		print_line(stderr, "hint: ", hint);
}

bool cli_colour(FILE *stream)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_colour && *no_colour)
		return false;
	if (!term || !*term || strcmp(term, "dumb") == 0)
		return false;
	return isatty(fileno(stream)) == 1;
}
