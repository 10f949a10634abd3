/* SPDX-License-Identifier: MIT */
#include "session/bases/provision_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/file.h"
#include "session/bases/place.h"

#define HEADING "### "
#define LOGS_DIR "logs"

void provision_log_init(struct provision_log *log, provision_said_fn *said, void *data, int fd)
{
	size_t line = (size_t)limit_get(LIMIT_PROVISION_LINE_BYTES);

	*log = (struct provision_log){
		.said = said, .data = data, .fd = fd, .rest = {BUF_INIT(line), BUF_INIT(line)}};
}

void provision_log_free(struct provision_log *log)
{
	buf_free(&log->rest[0]);
	buf_free(&log->rest[1]);
}

static void write_script_line(struct provision_log *log, const char *before, const char *line,
			      size_t len)
{
	static const char cut[] = "(more was said; the log ends here)\n";
	uint64_t most = limit_get(LIMIT_PROVISION_LOG_BYTES);

	if (log->failed.code || log->written > most)
		return;
	log->written += strlen(before) + len + 1;
	if (log->written > most) {
		(void)fd_write_all(log->fd, cut, strlen(cut), &log->failed);
		return;
	}
	if (fd_write_all(log->fd, before, strlen(before), &log->failed) == 0 &&
	    fd_write_all(log->fd, line, len, &log->failed) == 0)
		(void)fd_write_all(log->fd, "\n", 1, &log->failed);
}

static void tell_provisioner(const struct provision_log *log, enum microagent_base_line kind,
			     const char *text)
{
	if (log->said)
		log->said(log->data, kind, text);
}

void provision_log_doing(struct provision_log *log, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	write_script_line(log, "==> ", text, strlen(text));
	tell_provisioner(log, MICROAGENT_BASE_DOING, text);
}

static void take_script_line(struct provision_log *log, struct buf *rest)
{
	const char *carriage;
	size_t len = rest->len;
	char *line;

	if (len > 0 && buf_bytes(rest)[len - 1] == '\r')
		len--;
	write_script_line(log, "", (const char *)buf_bytes(rest), len);
	line = buf_steal_string(rest, NULL);
	if (line) {
		line[len] = '\0';
		if (strncmp(line, HEADING, strlen(HEADING)) == 0) {
			snprintf(log->step, sizeof(log->step), "%s", line + strlen(HEADING));
			tell_provisioner(log, MICROAGENT_BASE_STEP, line + strlen(HEADING));
		} else {
			/* On a terminal, text after a carriage return overwrites the line. So only
			 * the text after the last carriage return is reported. */
			carriage = strrchr(line, '\r');
			tell_provisioner(log, MICROAGENT_BASE_OUTPUT,
					 carriage ? carriage + 1 : line);
		}
	}
	free(line);
}

int provision_log_output(struct provision_log *log, enum microagent_output stream,
			 const void *bytes, size_t len)
{
	struct buf *rest = &log->rest[stream == MICROAGENT_STDERR];
	const char *at = bytes, *end = at + len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at), room = rest->limit - rest->len;
		bool whole = newline && n <= room;

		n = n < room ? n : room;
		if (buf_append(rest, at, n, &log->failed) < 0)
			return -1;
		at += n + whole;
		if (whole || rest->len == rest->limit)
			take_script_line(log, rest);
	}
	return log->failed.code ? -1 : 0;
}

void provision_log_flush(struct provision_log *log)
{
	for (int i = 0; i < 2; i++)
		if (log->rest[i].len > 0)
			take_script_line(log, &log->rest[i]);
}

/* --- kept ------------------------------------------------------------------------------------ */

/* Moves the log to a file such as logs/"base-web-2026-05-10T14-22-00Z.log". If that file exists,
 * puts a number before ".log". Writes the new path to `out`. */
static int move_log(int dir, const char *name, const char *base, const struct state_dir *logs,
		    char *out, size_t size)
{
	char now[CLOCK_TEXT];

	clock_rfc3339(clock_real_ns(), now);
	now[19] = '\0'; /* removes the milliseconds from the time */
	now[13] = now[16] = '-';
	for (unsigned i = 1; i < 100; i++) {
		char number[8] = "";

		if (i > 1)
			snprintf(number, sizeof(number), "-%u", i);
		snprintf(out, size, "base-%s-%sZ%s.log", base, now, number);
		if (file_rename_new(dir, name, logs->fd, out) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return -1;
}

/* The log is empty if a failure came before the first message. An empty log is not kept. */
void provision_log_keep(const struct provision_log *log, const struct microagent *agent, int dir,
			const char *name, const char *base, const char *nothing, struct error *err)
{
	struct error why = *err;
	struct state_dir logs;
	char kept[128];

	if (log->written == 0 || state_sub_open(agent, LOGS_DIR, true, &logs, NULL) < 0)
		return;
	if (move_log(dir, name, base, &logs, kept, sizeof(kept)) == 0) {
		error_set(err, why.code, "%s: %.600s; the log is %s/%s", nothing, why.msg,
			  logs.path, kept);
		error_reason(err, why.reason, why.subject);
	}
	state_dir_close(&logs);
}
