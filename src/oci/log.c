/* SPDX-License-Identifier: MIT */
/*
 * Writes the log of the runtime. Engines read the last line of the level "error", and recognise
 * some texts in it. For `exec: "X": executable file not found in $PATH`, podman and Docker exit
 * with 127; for `permission denied`, with 126. containerd looks for "container does not exist" and
 * "container not running".
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "oci/oci.h"

static char *log_text(const struct oci *oci, const char *level, const char *text)
{
	char time[CLOCK_TEXT];
	char *line = NULL;

	clock_rfc3339(clock_real_ns(), time);
	if (oci->log_format && strcmp(oci->log_format, "json") == 0) {
		json_auto_t *entry = json_pack("{s:s, s:o, s:s}", "level", level, "msg",
					       json_string_lossy(text, strlen(text)), "time", time);
		return entry ? json_line(entry, NULL) : NULL;
	}
	json_auto_t *quoted = json_string_lossy(text, strlen(text));
	autofree char *word = quoted ? json_line(quoted, NULL) : NULL;
	if (!word || asprintf(&line, "time=\"%s\" level=%s msg=%s", time, level, word) < 0)
		return NULL;
	return line;
}

static int open_log(const struct oci *oci)
{
	if (oci->log_fd > 0)
		return fcntl(oci->log_fd, F_DUPFD_CLOEXEC, 3);
	return oci->log ? open(oci->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
}

void oci_log_keep(struct oci *oci)
{
	int log = open_log(oci);

	oci->log_fd = log > 0 ? log : 0;
}

void oci_log(const struct oci *oci, const char *level, const char *fmt, ...)
{
	autofree char *text = NULL;
	autofree char *line = NULL;
	va_list args;
	int len;

	if (strcmp(level, "debug") == 0 && !oci->debug)
		return;
	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0) {
		text = NULL;
		return;
	}
	line = log_text(oci, level, text);
	if (!line)
		return;
	autoclose int log = open_log(oci);
	if (log >= 0)
		(void)!dprintf(log, "%s\n", line);
	if (oci->mute)
		return;
	if (strcmp(level, "error") == 0 || (log < 0 && strcmp(level, "warning") == 0))
		(void)!dprintf(STDERR_FILENO, "%s\n", line);
}
