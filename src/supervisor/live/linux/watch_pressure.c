/* SPDX-License-Identifier: MIT */
#include "supervisor/live/watch_pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"

#define WATCH_PRESSURE_FILE "/proc/pressure/memory"

struct watch_pressure {
	struct loop_watch *watch;
	int fd;
	uint64_t told_ns; /* the time of the last report; 0: nothing was reported yet */
	watch_pressure_fn *fn;
	void *data;
};

/* Reads the kernel's lines "some avg10=0.00 ..." and "full avg10=0.00 ...". Returns an object with
 * a member for each line, which the caller releases: {"some":"avg10=0.00 ...", ...}. */
static json_t *read_figures(int fd)
{
	char text[512], *rest = text, *line;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	json_t *figures = json_object();

	text[n < 0 ? 0 : n] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		char *space = strchr(line, ' ');

		if (!space)
			continue;
		*space++ = '\0';
		json_object_set_new(figures, line, json_string_lossy(space, strlen(space)));
	}
	return figures;
}

static void on_psi_event(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct watch_pressure *watch = data;
	uint64_t now = clock_mono_ns();

	(void)loop;
	if (events & (LOOP_ERR | LOOP_HUP)) {
		loop_remove(steal_ptr(&watch->watch));
		return;
	}
	if (watch->told_ns && now - watch->told_ns < limit_get(LIMIT_PRESSURE_AGAIN_MS) * NS_PER_MS)
		return;
	watch->told_ns = now;
	watch->fn(watch->data, read_figures(fd));
}

struct watch_pressure *watch_pressure_new(struct loop *loop, watch_pressure_fn *fn, void *data,
					  struct error *err)
{
	struct watch_pressure *watch = calloc(1, sizeof(*watch));
	char trigger[64];
	int len = snprintf(trigger, sizeof(trigger), "some %llu 2000000",
			   (unsigned long long)limit_get(LIMIT_PRESSURE_US));

	if (!watch) {
		error_errno(err, ENOMEM, WATCH_PRESSURE_FILE);
		return NULL;
	}
	watch->fn = fn;
	watch->data = data;
	watch->fd = open(WATCH_PRESSURE_FILE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	/* The kernel requires the final NUL of the trigger. */
	if (watch->fd < 0 || write(watch->fd, trigger, (size_t)len + 1) < 0)
		error_errno(err, errno, WATCH_PRESSURE_FILE);
	else
		watch->watch = loop_add_fd(loop, watch->fd, LOOP_PRI, on_psi_event, watch, err);
	if (watch->watch)
		return watch;
	watch_pressure_free(watch);
	return NULL;
}

void watch_pressure_free(struct watch_pressure *watch)
{
	if (!watch)
		return;
	loop_remove(watch->watch);
	cleanup_close(&watch->fd);
	free(watch);
}
