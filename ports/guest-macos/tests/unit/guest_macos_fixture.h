/* SPDX-License-Identifier: MIT */
/* Runs the agent of macOS guests in a child process, with socket pairs instead of vsock. The
 * commands by which the agent switches the machine off and mounts directories are scripts of the
 * test. The agent's PATH has no other commands. */
#ifndef GUEST_MACOS_FIXTURE_H
#define GUEST_MACOS_FIXTURE_H

#include "test_base.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/agent_wire.h"
#include "base/base64.h"
#include "base/fd.h"
#include "base/json.h"
#include "guest-macos/mac_agent.h"

#define PATIENCE_MS 60000

struct macos {
	char dir[64];
	int fd;	     /* the client's end of the agent's only connection */
	int control; /* the host's end of the control stream */
	pid_t agent;
	struct buf in;
};

static const char *test_user(void)
{
	/* cppcheck-suppress getpwuidCalled ; the test has one thread */
	const struct passwd *pw = getpwuid(geteuid());

	return geteuid() == 0 ? "nobody" : pw ? pw->pw_name : "nobody";
}

static void write_script(const char *dir, const char *name, const char *log)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\necho %s \"$@\" >> %s/%s\n", name, dir, log);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
}

/* Runs the agent until its only connection has ended. */
static void run_agent(const char *dir, int fd, int control)
{
	struct mac_agent agent = {.user = test_user(), .listen_fd = -1};
	struct error err = {0};

	setenv("PATH", dir, 1);
	if (mac_agent_open(&agent, &err) < 0)
		_exit(2);
	mac_agent_add(&agent, fd);
	mac_set_flags(control);
	agent.control = mac_control_new(control, "boot");
	mac_control_turn(agent.control, 0);
	while (agent.conns)
		if (mac_agent_turn(&agent, &err) < 0)
			_exit(3);
	mac_agent_close(&agent);
	_exit(0);
}

static inline int macos_start(void **state)
{
	struct macos *m = calloc(1, sizeof(*m));
	int ends[2], control[2];

	snprintf(m->dir, sizeof(m->dir), "/tmp/microagent-test-XXXXXX");
	if (!mkdtemp(m->dir) || chmod(m->dir, 0755) < 0 || fd_socketpair(ends, NULL) < 0 ||
	    fd_socketpair(control, NULL) < 0)
		return -1;
	write_script(m->dir, "poweroff", "did");
	write_script(m->dir, "mount", "did");
	m->agent = fork();
	if (m->agent == 0) {
		close(ends[0]);
		close(control[0]);
		run_agent(m->dir, ends[1], control[1]);
	}
	close(ends[1]);
	close(control[1]);
	m->fd = ends[0];
	m->control = control[0];
	*state = m;
	return m->agent < 0 ? -1 : 0;
}

static inline void hang_up(struct macos *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

static inline int macos_stop(void **state)
{
	struct macos *m = *state;
	char command[96];
	int status = 0;

	hang_up(m);
	waitpid(m->agent, &status, 0);
	close(m->control);
	buf_free(&m->in);
	snprintf(command, sizeof(command), "rm -rf %s", m->dir);
	assert_int_equal(system(command), 0);
	free(m);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* --- what a client says and hears ------------------------------------------------------------ */

static inline void say_bytes(int fd, const void *bytes, size_t len)
{
	assert_int_equal(fd_write_all(fd, bytes, len, NULL), 0);
}

static inline void say_text(struct macos *m, const char *text)
{
	say_bytes(m->fd, text, strlen(text));
}

static inline void say_frame(int fd, const void *payload, size_t len)
{
	uint8_t front[4];

	be32_put(front, (uint32_t)len);
	say_bytes(fd, front, 4);
	say_bytes(fd, payload, len);
}

/* Sends a message and releases it. */
static inline void say_json(int fd, json_t *message)
{
	char *text;

	assert_non_null(message);
	text = json_dumps(message, JSON_COMPACT);
	say_frame(fd, text, strlen(text));
	free(text);
	json_decref(message);
}

static inline void say_stdin(struct macos *m, uint64_t number, const void *bytes, size_t len)
{
	uint8_t front[AGENT_DATA_FRONT];

	agent_data_front(front, AGENT_FRAME_STDIN, number, len);
	say_bytes(m->fd, front, sizeof(front));
	say_bytes(m->fd, bytes, len);
}

/* Reads more bytes into m->in. Returns false at the end of the connection. */
static inline bool hear_more(struct macos *m, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t chunk[65536];
	ssize_t n;

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	n = read(fd, chunk, sizeof(chunk));
	if (n <= 0)
		return false;
	assert_int_equal(buf_append(&m->in, chunk, (size_t)n, NULL), 0);
	return true;
}

static inline json_t *hear_line(struct macos *m)
{
	const uint8_t *end;
	json_t *doc;

	while (!(end = memchr(buf_bytes(&m->in), '\n', m->in.len)))
		assert_true(hear_more(m, m->fd));
	size_t len = (size_t)(end - buf_bytes(&m->in));
	doc = json_loadb((const char *)buf_bytes(&m->in), len, 0, NULL);
	assert_non_null(doc);
	buf_consume(&m->in, len + 1);
	return doc;
}

/* Returns the payload of the next frame. The frame stays in m->in until the caller drops it. */
static inline const uint8_t *hear_frame(struct macos *m, int fd, size_t *len)
{
	const uint8_t *payload;
	int found;

	while ((found = frame_peek(&m->in, FRAME_MAX, &payload, len, NULL)) == 0)
		assert_true(hear_more(m, fd));
	assert_int_equal(found, 1);
	return payload;
}

static inline void drop_frame(struct macos *m, size_t len)
{
	buf_consume(&m->in, FRAME_HEADER + len);
}

static inline json_t *hear_json(struct macos *m, int fd)
{
	size_t len;
	const uint8_t *payload = hear_frame(m, fd, &len);
	json_t *doc = json_loadb((const char *)payload, len, 0, NULL);

	assert_non_null(doc);
	drop_frame(m, len);
	return doc;
}

static inline void hear_end(struct macos *m)
{
	while (hear_more(m, m->fd))
		;
	assert_int_equal(m->in.len, 0);
}

static inline void text_is(const json_t *doc, const char *key, const char *text)
{
	assert_string_equal(json_text(doc, key, "(none)"), text);
}

static inline void number_is(const json_t *doc, const char *key, json_int_t number)
{
	assert_true(json_is_integer(json_object_get(doc, key)));
	assert_int_equal(json_integer_value(json_object_get(doc, key)), number);
}

/* Creates a FIFO for a test whose command starts a background process that opens the FIFO. The end
 * of file on the FIFO shows that this process has exited. */
static inline int make_fifo(const struct macos *m, char path[128])
{
	snprintf(path, 128, "%s/fifo", m->dir);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(chmod(path, 0666), 0);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* Waits for a line in the FIFO, which shows that the background process has opened the FIFO. */
static inline void await_holder(int fifo)
{
	struct pollfd p = {.fd = fifo, .events = POLLIN};
	char bytes[16];

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_true(read(fifo, bytes, sizeof(bytes)) > 0);
}

static inline void await_gone(int fifo)
{
	struct pollfd p = {.fd = fifo, .events = POLLIN};
	char byte;

	do
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	while (read(fifo, &byte, 1) > 0);
	close(fifo);
}

#endif
