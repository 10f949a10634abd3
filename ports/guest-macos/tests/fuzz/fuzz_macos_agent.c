/* SPDX-License-Identifier: MIT */
/*
 * Runs the agent of macOS guests with a client that sends the input of the fuzzer. The first byte
 * of the input selects one of two forms. In one form the client sends the remaining bytes
 * unchanged. In the other form the client sends each line of the remaining bytes as the payload of
 * a frame, so that the fuzzer need not guess lengths. A line that begins with 'I' becomes a stdin
 * frame: the second byte of the line is the number of the request.
 *
 * No command is really run. Each pretended command has written four bytes to stdout, and reads all
 * of its stdin. After each line of the input, the length of the line decides whether a command's
 * output ends. The program checks that each frame of the agent has a valid type.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/frame.h"
#include "fuzz_input.h"
#include "guest-macos/mac_agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COMMANDS 64

static int running[COMMANDS]; /* the write ends of the pipes for the commands' stdout */
static size_t running_count;

/* --- in the place of mac_spawn.c -------------------------------------------------------------- */

int mac_set_flags(int fd)
{
	return fd_nonblock(fd, true, NULL);
}

int mac_user_find(const char *name, struct mac_user *out, struct error *err)
{
	(void)name, (void)out;
	return error_set(err, ERR_NOT_FOUND, "no users here");
}

void mac_spawn(struct mac_job *job, const struct mac_request *request, const char *default_user)
{
	int ends[2];

	(void)default_user;
	HOLDS(request->path || (request->argv && request->argv[0]));
	if (running_count == COMMANDS || fd_pipe(ends, NULL) < 0 || mac_set_flags(ends[0]) < 0) {
		snprintf(job->start_error, sizeof(job->start_error), "no room");
		return;
	}
	HOLDS(write(ends[1], "said", 4) == 4);
	job->outs[0] = ends[0];
	running[running_count++] = ends[1];
	if (request->stdin_open)
		job->in = open("/dev/null", O_WRONLY | O_CLOEXEC);
	job->exited = true;
}

/* --- the client ------------------------------------------------------------------------------- */

struct client {
	struct mac_agent agent;
	int fd;
	struct buf heard;
	bool framed;
};

static void hear(struct client *c)
{
	const uint8_t *payload;
	size_t len;

	for (;;) {
		uint8_t *room = buf_reserve(&c->heard, 65536, NULL);
		ssize_t n = room ? read(c->fd, room, 65536) : -1;

		if (n <= 0)
			break;
		buf_commit(&c->heard, (size_t)n);
	}
	while (c->framed && frame_peek(&c->heard, FRAME_MAX, &payload, &len, NULL) == 1) {
		HOLDS(payload[0] == '{' || payload[0] == AGENT_FRAME_STDOUT ||
		      payload[0] == AGENT_FRAME_STDERR);
		buf_consume(&c->heard, FRAME_HEADER + len);
	}
	if (!c->framed)
		buf_consume(&c->heard, c->heard.len);
}

/* Lets the agent handle its events. First raises SIGCHLD, although no child exists, so that the
 * agent does not wait for events. */
static void turn(struct client *c)
{
	raise(SIGCHLD);
	HOLDS(mac_agent_turn(&c->agent, NULL) == 0);
	hear(c);
}

static void feed(struct client *c, const uint8_t *bytes, size_t len)
{
	while (len > 0 && c->agent.conns) {
		ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
		turn(c);
	}
}

static void feed_payload(struct client *c, const uint8_t *payload, size_t len)
{
	uint8_t front[AGENT_DATA_FRONT] = {0};
	size_t extra = 0;

	if (len >= 2 && payload[0] == 'I') {
		front[FRAME_HEADER] = AGENT_FRAME_STDIN;
		be64_put(front + FRAME_HEADER + 1, payload[1]);
		extra = AGENT_DATA_HEADER;
		payload += 2;
		len -= 2;
	}
	be32_put(front, (uint32_t)(extra + len));
	feed(c, front, FRAME_HEADER + extra);
	feed(c, payload, len);
}

static void end_some(uint8_t which)
{
	if (running_count && which % 3 == 0)
		close(running[--running_count]);
}

static void feed_lines(struct client *c, const uint8_t *data, size_t size)
{
	while (c->agent.conns && size > 0) {
		const uint8_t *newline = memchr(data, '\n', size);
		size_t len = newline ? (size_t)(newline - data) : size;

		feed_payload(c, data, len);
		end_some((uint8_t)len);
		data += len + (newline ? 1 : 0);
		size -= len + (newline ? 1 : 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client c = {.agent = {.user = "agent", .listen_fd = -1}};
	int ends[2];

	if (size < 1)
		return 0;
	HOLDS(mac_agent_open(&c.agent, NULL) == 0 && fd_socketpair(ends, NULL) == 0);
	c.fd = ends[0];
	HOLDS(mac_set_flags(c.fd) == 0);
	mac_agent_add(&c.agent, ends[1]);
	c.framed = data[0] & 1;
	if (c.framed)
		feed_lines(&c, data + 1, size - 1);
	else
		feed(&c, data + 1, size - 1);
	while (running_count)
		close(running[--running_count]);
	shutdown(c.fd, SHUT_WR);
	turn(&c);
	turn(&c);
	mac_agent_close(&c.agent);
	close(c.fd);
	buf_free(&c.heard);
	return 0;
}
