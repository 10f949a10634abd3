/* SPDX-License-Identifier: MIT */
#include "supervisor/handover/report.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/descriptor.h"

#define READ_CHUNK 65536u

static void send_bytes(int fd, const char *text, size_t len)
{
	uint64_t deadline = limit_deadline(LIMIT_CONTROL_REQUEST_MS);
	struct error err;

	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && fd_wait(fd, POLLOUT, deadline, &err) == 0)
			continue;
		if (n < 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

void report_send(int fd, const json_t *line)
{
	autofree char *text = line && fd >= 0 ? json_line(line, NULL) : NULL;

	if (!text)
		return;
	send_bytes(fd, text, strlen(text));
	send_bytes(fd, "\n", 1);
}

json_t *report_event(const json_t *event)
{
	json_auto_t *line = json_object();

	if (!line || json_put(line, "event", json_deep_copy(event), NULL) < 0)
		return NULL;
	return steal_ptr(&line);
}

json_t *report_final(const json_t *event, const json_t *result, const struct error *error)
{
	json_auto_t *line = json_object();

	if (!line || json_put(line, "final", json_true(), NULL) < 0)
		return NULL;
	if (event && json_put(line, "event", json_deep_copy(event), NULL) < 0)
		return NULL;
	if (result && json_put(line, "result", json_deep_copy(result), NULL) < 0)
		return NULL;
	if (error->code != ERR_NONE && json_put_error(line, error, NULL) < 0)
		return NULL;
	return steal_ptr(&line);
}

/* Takes one line from the bytes that were read. Returns 1 if there was a complete line, 0 if more
 * bytes are needed, -1 on an error. */
static int take_report_line(struct buf *in, json_t **line, struct error *err)
{
	const uint8_t *bytes = buf_bytes(in), *end = memchr(bytes, '\n', in->len);
	size_t len = end ? (size_t)(end - bytes) : 0;
	json_t *value;

	if (!end)
		return 0;
	value = json_load_strict(bytes, len, err);
	if (!value)
		return error_prefix(err, "the live supervisor's report is not valid JSON");
	buf_consume(in, len + 1);
	*line = value;
	return 1;
}

static bool take_cut(struct report_reader *reader, const struct pollfd lifelines[REPORT_LIFELINES])
{
	bool cut = false;

	for (size_t i = 0; i < REPORT_LIFELINES; i++)
		cut = cut || lifelines[i].revents;
	for (size_t i = 0; cut && i < REPORT_LIFELINES; i++)
		reader->lifelines[i] = -1;
	return cut;
}

/* Waits for more bytes of the report, or for its end. Ignores bytes on a lifeline, since they are
 * for another process. A lifeline has ended when its writing end is closed, and poll() reports this
 * without being asked. */
static enum report_got wait_for_more(struct report_reader *reader, uint64_t deadline_ns,
				     struct error *err)
{
	struct pollfd slots[1 + REPORT_LIFELINES] = {{.fd = reader->fd, .events = POLLIN}};
	int got;

	for (size_t i = 0; i < REPORT_LIFELINES; i++)
		slots[1 + i] = (struct pollfd){.fd = reader->lifelines[i]};
	do
		got = descriptor_poll(slots, ARRAY_SIZE(slots), deadline_ns);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		error_set(err, ERR_TIMEOUT, "the deadline passed");
	else if (got < 0)
		error_errno(err, errno, "poll");
	if (got <= 0)
		return REPORT_NONE;
	return !slots[0].revents && take_cut(reader, &slots[1]) ? REPORT_CUT : REPORT_LINE;
}

enum report_got report_next(struct report_reader *reader, uint64_t deadline_ns, json_t **line,
			    struct error *err)
{
	for (;;) {
		int taken = take_report_line(&reader->in, line, err);
		enum report_got got;
		uint8_t *room;
		ssize_t n;

		if (taken != 0)
			return taken < 0 ? REPORT_NONE : REPORT_LINE;
		got = wait_for_more(reader, deadline_ns, err);
		if (got != REPORT_LINE)
			return got;
		room = buf_reserve(&reader->in, READ_CHUNK, err);
		if (!room)
			return REPORT_NONE;
		n = read(reader->fd, room, READ_CHUNK);
		if (n == 0)
			return REPORT_ENDED;
		if (n < 0 && errno != EINTR && errno != EAGAIN) {
			error_errno(err, errno, "the live supervisor's report cannot be read");
			return REPORT_NONE;
		}
		if (n > 0)
			buf_commit(&reader->in, (size_t)n);
	}
}

void report_error(const json_t *line, struct error *out)
{
	*out = (struct error){0};
	if (json_text(line, "error", NULL))
		json_get_error(line, NULL, out);
}
