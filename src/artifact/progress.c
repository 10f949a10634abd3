/* SPDX-License-Identifier: MIT */
#include "artifact/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print_safe.h"

#define REDRAW_NS (250 * NS_PER_MS)
#define PATIENCE_NS NS_PER_S

/* The state of the progress line. There is only one progress line, because a terminal can show only
 * one. */
static struct {
	char text[160];
	/* Times in nanoseconds: when the first stage began, when the current stage began, and when
	 * the line was last drawn. */
	uint64_t began, since, drawn;
	size_t done, total;
	bool shown;
} line;

void progress_stage(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(line.text, sizeof(line.text), fmt, args);
	va_end(args);
	line.since = clock_mono_ns();
	line.done = line.total = 0;
	line.drawn = 0;
	if (!line.began)
		line.began = line.since;
	progress_draw();
}

void progress_count(size_t done, size_t total)
{
	line.done = done;
	line.total = total;
	progress_draw();
}

/* Returns the number of columns that the line may use. The last column stays free, so that the
 * cursor does not move to the next line. */
static int terminal_room(void)
{
	struct winsize size = {0};

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
		return 79;
	return size.ws_col - 1;
}

void progress_draw(void)
{
	uint64_t now = clock_mono_ns();
	unsigned seconds = (unsigned)((now - line.since) / NS_PER_S);
	char share[32] = "", behind[64], text[sizeof(line.text)];
	int n, room;

	if (!line.text[0] || !isatty(STDERR_FILENO) || now - line.drawn < REDRAW_NS)
		return;
	if (now - line.began < PATIENCE_NS)
		return;
	/* The total is only an estimate, so the line shows at most 99 %. */
	if (line.total)
		snprintf(share, sizeof(share), " %zu %%",
			 line.done >= line.total ? (size_t)99 : line.done * 100 / line.total);
	n = snprintf(behind, sizeof(behind), "%s (%u:%02u)", share, seconds / 60, seconds % 60);
	room = terminal_room();
	snprintf(text, sizeof(text), "%.*s", n < room ? room - n : 0, line.text);
	fputs("\r\033[K", stderr);
	print_safe(stderr, text); /* the text may contain a name that the user chose */
	fputs(behind, stderr);
	fflush(stderr);
	line.drawn = now;
	line.shown = true;
}

void progress_clear(void)
{
	if (line.shown)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	line.shown = false;
	line.text[0] = '\0';
	line.began = 0;
}
