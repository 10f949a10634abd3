/* SPDX-License-Identifier: MIT */
#include "session/bases/provision_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"

#define HEADING "### "

void provision_log_init(struct provision_log *log, const struct microagent_base_spec *spec, int fd)
{
	size_t line = (size_t)limit_get(LIMIT_PROVISION_LINE_BYTES);

	*log = (struct provision_log){
		.spec = spec, .fd = fd, .rest = {BUF_INIT(line), BUF_INIT(line)}};
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
	if (log->spec->said)
		log->spec->said(log->spec->data, kind, text);
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

/* What of a terminal's line was overwritten by what came after is not worth telling. */
static const char *last_written(const char *line)
{
	const char *carriage = strrchr(line, '\r');

	return carriage ? carriage + 1 : line;
}

static void take_script_line(struct provision_log *log, struct buf *rest)
{
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
			tell_provisioner(log, MICROAGENT_BASE_OUTPUT, last_written(line));
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
