/* SPDX-License-Identifier: MIT */
/*
 * Keeps the metrics that Firecracker counts about itself:
 * https://github.com/firecracker-microvm/firecracker/blob/main/docs/metrics.md. Firecracker writes
 * the metrics as a line of JSON, once a minute and when it ends. The last line is kept in the
 * workspace, for a person who wants to know what a device or the rate limiter has done. A guest may
 * have taken over Firecracker, so nothing depends on the metrics.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/firecracker/firecracker.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"

/* The length in bytes of the longest line that is kept. With many devices a line has about 20
 * KiB. */
#define LINE_MAX_BYTES (256 << 10)

static void keep_newest(struct fc_metrics *m)
{
	struct error why = {0};
	size_t len = m->newest.len;
	json_auto_t *told = json_load_strict((const char *)buf_bytes(&m->newest), len, &why);

	if (!json_is_object(told) ||
	    path_replace_file_at(m->workspace_fd, FC_METRICS_FILE, buf_bytes(&m->newest), len, 0600,
				 PATH_NO_SYNC, &why) < 0)
		log_limited(m->log, FC_METRICS_FILE ": %s",
			    *why.msg ? why.msg : "the metrics are not a JSON object");
	buf_consume(&m->newest, len);
}

static void end_metrics_line(struct fc_metrics *m)
{
	struct buf line = m->line;

	if (!m->cut && line.len) {
		m->line = m->newest;
		m->newest = line;
	}
	buf_consume(&m->line, m->line.len);
	m->cut = false;
}

/* Takes bytes of the metrics. A line that is too long is dropped as a whole. */
static void take_metrics(struct fc_metrics *m, const char *bytes, size_t n)
{
	while (n) {
		const char *end = memchr(bytes, '\n', n);
		size_t part = end ? (size_t)(end - bytes) : n;

		m->cut = m->cut || buf_append(&m->line, bytes, part, NULL) < 0;
		if (end)
			end_metrics_line(m);
		part += end != NULL;
		bytes += part;
		n -= part;
	}
}

static bool receive_metrics(struct fc_metrics *m)
{
	char bytes[4096];
	ssize_t n = read(m->fd, bytes, sizeof(bytes));

	if (n > 0)
		take_metrics(m, bytes, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		loop_remove(steal_ptr(&m->watch));
	return n > 0;
}

static void keep_in_time(struct fc_metrics *m);

static void on_metrics_time(struct loop *loop, void *data)
{
	struct fc_metrics *m = data;

	(void)loop;
	m->timer = NULL;
	keep_in_time(m);
}

/* Writes the newest line to the file, but not more than once in LIMIT_METRICS_MS. A Firecracker
 * that was taken over may send any number of lines. */
static void keep_in_time(struct fc_metrics *m)
{
	if (m->timer || !m->newest.len)
		return;
	keep_newest(m);
	m->timer =
		loop_add_timer(m->loop, limit_deadline(LIMIT_METRICS_MS), on_metrics_time, m, NULL);
}

static void on_metrics(struct loop *loop, int fd, uint32_t events, void *data)
{
	(void)loop, (void)fd, (void)events;
	receive_metrics(data);
	keep_in_time(data);
}

int fc_metrics_open(struct firecracker *fc, struct error *err)
{
	struct fc_metrics *m = &fc->metrics;

	m->line.limit = m->newest.limit = LINE_MAX_BYTES;
	m->loop = fc->vm.loop;
	m->log = fc->vm.log;
	m->workspace_fd = fc->vm.workspace_fd;
	m->watch = loop_add_fd(m->loop, m->fd, LOOP_IN, on_metrics, m, err);
	return m->watch ? 0 : -1;
}

void fc_metrics_drain(struct fc_metrics *m)
{
	/* Firecracker has ended, so only bytes that are already in the pipe can come. The number of
	 * reads is still limited. */
	for (int i = 0; i < 256 && m->fd >= 0 && receive_metrics(m); i++)
		;
	if (m->newest.len)
		keep_newest(m);
}

void fc_metrics_close(struct fc_metrics *m)
{
	loop_remove(steal_ptr(&m->watch));
	loop_remove(steal_ptr(&m->timer));
	cleanup_close(&m->fd);
	buf_free(&m->line);
	buf_free(&m->newest);
	m->fd = -1;
}
