/* SPDX-License-Identifier: MIT */
/* Draws the progress line. If stderr is a terminal, the line is rewritten in place. */
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print_safe.h"
#include "cli/cli.h"

#define FIRST_NS NS_PER_S
#define REDRAW_NS (100 * NS_PER_MS)

void progress_start(struct progress *progress, const char *what)
{
	*progress = (struct progress){
		.on = isatty(STDERR_FILENO) == 1,
		.start_ns = clock_mono_ns(),
	};
	snprintf(progress->what, sizeof(progress->what), "%s", what);
}

/* Returns the number of columns that the line may use. The line does not use the last column, since
 * the cursor would then move to the next line. */
static int room(void)
{
	struct winsize size = {0};

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
		return 79;
	return size.ws_col - 1;
}

static void draw(struct progress *progress, uint64_t now)
{
	unsigned seconds = (unsigned)((now - progress->start_ns) / NS_PER_S);
	char line[256];
	int len;

	if (progress->total > 0) {
		uint64_t done = progress->done < progress->total ? progress->done : progress->total;

		len = snprintf(line, sizeof(line), "%s: %u%%", progress->what,
			       (unsigned)(done * 100.0 / progress->total));
	} else {
		len = snprintf(line, sizeof(line), "%s: %u s", progress->what, seconds);
	}
	if (progress->detail[0] && len > 0 && (size_t)len < sizeof(line))
		snprintf(line + len, sizeof(line) - (size_t)len, "  %s", progress->detail);
	if (len >= 0 && (size_t)room() < sizeof(line))
		line[room()] = '\0';
	putc('\r', stderr);
	/* printed safely, since the line may contain the name of a guest's file */
	cli_print_safe(stderr, line);
	fputs("\033[K", stderr);
	fflush(stderr);
	progress->shown = true;
	progress->drawn_ns = now;
}

void progress_tick(struct progress *progress)
{
	uint64_t now;

	if (!progress->on)
		return;
	now = clock_mono_ns();
	if (now - progress->start_ns < FIRST_NS || now - progress->drawn_ns < REDRAW_NS)
		return;
	draw(progress, now);
}

void progress_set(struct progress *progress, uint64_t done, uint64_t total)
{
	progress->done = done;
	progress->total = total;
	progress_tick(progress);
}

void progress_detail(struct progress *progress, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(progress->detail, sizeof(progress->detail), fmt, args);
	va_end(args);
	make_safe(progress->detail);
	progress_tick(progress);
}

void progress_end(struct progress *progress)
{
	if (progress->shown) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	progress->on = false;
	progress->shown = false;
}
