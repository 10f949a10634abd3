/* SPDX-License-Identifier: MIT */
/* A pump between pipes and a guest. The guest is a thread at the other end of a socket. */
#ifndef TEST_PUMP_FIXTURE_H
#define TEST_PUMP_FIXTURE_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/frame.h"
#include "channel/pump.h"

static const char start[] = "{\"event\":\"start\",\"request\":1,\"id\":\"1\",\"pid\":2}";

struct rig {
	const struct microagent_terminal *terminal;
	int guest; /* the other end of the connection */
	int in[2], out[2], err[2], cancel[2];
	const struct microagent_signals *signals;
	const struct microagent_sink *sink;
	struct pump_guest known; /* of the guest */
	struct microagent_exec exec;
	struct connection connection;
	struct agent_call call;
	struct microagent_outcome outcome;
	struct error error;
};

static inline void guest_frame(int fd, const void *payload, size_t len)
{
	uint8_t header[FRAME_HEADER];

	be32_put(header, (uint32_t)len);
	if (fd_write_all(fd, header, sizeof(header), NULL) == 0)
		fd_write_all(fd, payload, len, NULL);
}

static inline void guest_json(int fd, const char *text)
{
	guest_frame(fd, text, strlen(text));
}

static inline void guest_data(int fd, uint8_t type, const void *bytes, size_t len)
{
	static _Thread_local uint8_t payload[65536 + 9];

	payload[0] = type;
	be64_put(payload + 1, 1);
	memcpy(payload + 9, bytes, len);
	guest_frame(fd, payload, 9 + len);
}

/* Reads one frame of the client. Returns its first byte, 0 at the end of the connection. */
static inline uint8_t guest_read(int fd, uint8_t *payload, size_t room, size_t *len)
{
	uint8_t header[FRAME_HEADER];

	if (fd_read_exact(fd, header, sizeof(header), NULL) < 0)
		return 0;
	*len = be32_get(header);
	if (*len > room || fd_read_exact(fd, payload, *len, NULL) < 0)
		return 0;
	return payload[0];
}

static inline void rig_open(struct rig *rig, size_t connection_buffer)
{
	static const char *const words[] = {"x", NULL};
	int ends[2], size = (int)connection_buffer;

	memset(rig, 0, sizeof(*rig));
	assert_int_equal(fd_socketpair(ends, NULL), 0);
	if (size)
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	connection_init(&rig->connection);
	rig->connection.fd = ends[0];
	rig->guest = ends[1];
	assert_int_equal(fd_pipe(rig->in, NULL), 0);
	assert_int_equal(fd_pipe(rig->out, NULL), 0);
	assert_int_equal(fd_pipe(rig->err, NULL), 0);
	assert_int_equal(fd_pipe(rig->cancel, NULL), 0);
	rig->exec = (struct microagent_exec){.command = words};
	assert_int_equal(calls_begin(&rig->connection.calls, &rig->call, &rig->exec,
				     AGENT_INPUT_STDIN, NULL),
			 0);
}

static inline void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void rig_close(struct rig *rig)
{
	int *const fds[] = {&rig->guest,  &rig->in[0],	   &rig->in[1],
			    &rig->out[0], &rig->out[1],	   &rig->err[0],
			    &rig->err[1], &rig->cancel[0], &rig->cancel[1]};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close_one(fds[i]);
	connection_close(&rig->connection);
}

static inline int rig_run(struct rig *rig)
{
	const struct microagent_streams streams = {.in = rig->in[0],
						   .out = rig->out[1],
						   .err = rig->err[1],
						   .cancel = rig->cancel[0],
						   .signals = rig->signals,
						   .sink = rig->sink};

	rig->exec.terminal = rig->terminal;
	return pump_run(&rig->connection, &rig->call, &streams, &rig->known, &rig->outcome,
			&rig->error);
}

static inline void *run_pump(void *data)
{
	struct rig *rig = data;

	if (rig_run(rig) == 0)
		rig->error.code = ERR_NONE;
	close_one(&rig->out[1]);
	close_one(&rig->err[1]);
	return NULL;
}

#endif
