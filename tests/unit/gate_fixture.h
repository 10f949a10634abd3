/* SPDX-License-Identifier: MIT */
/* Runs the filter in a thread, between two sockets of the test, with a poll() of the test. */
#ifndef GATE_FIXTURE_H
#define GATE_FIXTURE_H

#include "test_netgate.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "netgate/gate.h"

/* --- poll(), as the filter calls it ---------------------------------------------------------- */

/* The error of the next call; 0: none. */
static _Atomic int poll_fails;
static _Atomic unsigned hangups, only_room;

/* Replaces the poll() of the C library. A filter that asks without waiting, or goes on asking about
 * a side that has gone, would use a processor all the time. */
int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	const struct timespec wait = {timeout / 1000, timeout % 1000 * NS_PER_MS};
	int failure = n > 1 ? atomic_exchange(&poll_fails, 0) : 0, found;

	if (failure) {
		errno = failure;
		return -1;
	}
	if (n > 1 && (timeout == 0 || timeout > 1001))
		abort();
	found = ppoll(fds, n, timeout < 0 ? NULL : &wait, NULL);
	for (nfds_t i = 0; n > 1 && i < n; i++)
		if (fds[i].revents & POLLHUP && hangups++ > 100)
			abort();
	/* The filter asks for room only while something waits for it. */
	if ((fds[0].revents | fds[n > 1].revents | fds[n > 1 ? 2 : 0].revents) != POLLOUT)
		only_room = 0;
	else if (only_room++ > 100000)
		abort();
	return found;
}

/* --- the fixture ----------------------------------------------------------------------------- */

struct fixture {
	struct gate *gate;
	int vm, passt, supervisor; /* our ends */
	int theirs[3];
	pthread_t thread;
	bool running;
	uint64_t rate; /* of start() */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int *ours[] = {&f->vm, &f->passt, &f->supervisor};

	f->gate = calloc(1, sizeof(*f->gate));
	screen_of_guest(&f->gate->screen);
	for (int i = 0; i < 3; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, i < 2 ? SOCK_STREAM : SOCK_SEQPACKET, 0, pair) < 0)
			return -1;
		*ours[i] = pair[0];
		f->theirs[i] = pair[1];
	}
	*state = f;
	return 0;
}

/* Waits for its end. Returns whether it ended well. */
static bool ended_well(struct fixture *f)
{
	void *ended = NULL;

	pthread_join(f->thread, &ended);
	f->running = false;
	return ended == f;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->vm);
	close(f->passt);
	if (f->running)
		pthread_join(f->thread, NULL);
	close(f->supervisor);
	for (int i = 0; i < 3; i++)
		close(f->theirs[i]);
	free(f->gate);
	free(f);
	return 0;
}

static void *serve(void *data)
{
	struct fixture *f = data;
	struct error err;

	return gate_run(f->gate, &err) == 0 ? f : NULL;
}

/* with_own: the host's addresses are known from the start. */
static void start(struct fixture *f, bool with_passt, bool with_own)
{
	gate_init(f->gate, f->theirs[0], with_passt ? f->theirs[1] : -1, f->theirs[2], f->rate);
	if (with_own)
		f->gate->screen.prefixes.nown = 0;
	assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
	f->running = true;
}

static size_t pack(uint8_t *out, struct frame frame)
{
	put32(out, (uint32_t)frame.len);
	memcpy(out + 4, frame.bytes, frame.len);
	return 4 + frame.len;
}

static void put(int fd, const void *bytes, size_t len)
{
	struct error err = {0};

	assert_ok(fd_write_all(fd, bytes, len, &err));
}

static void send_frame(int fd, struct frame frame)
{
	uint8_t bytes[2100];

	put(fd, bytes, pack(bytes, frame));
}

static void expect_frame(int fd, struct frame frame)
{
	uint8_t bytes[2100], got[2100];
	struct error err = {0};
	size_t len = pack(bytes, frame);

	assert_ok(fd_read_exact(fd, got, len, &err));
	assert_memory_equal(got, bytes, len);
}

static void expect_line(struct fixture *f, const char *line)
{
	char got[256] = "";

	assert_true(recv(f->supervisor, got, sizeof(got) - 1, 0) > 0);
	assert_string_equal(got, line);
}

#endif
