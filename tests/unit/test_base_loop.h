/* SPDX-License-Identifier: MIT */
/* Things that the tests of the loop share: a loop with two socket pairs, and calls that are
 * counted. */
#ifndef TEST_BASE_LOOP_H
#define TEST_BASE_LOOP_H

#include "test_base.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"

struct fixture {
	struct loop *loop;
	int a[2], b[2]; /* socket pairs; the tests watch [0] and act on [1] */
	struct loop_watch *watch_a, *watch_b, *other;
	int calls, calls_a, calls_b;
	uint32_t events;
	int last; /* signal or code */
	struct proc proc;
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->loop = loop_new(NULL);
	f->proc = (struct proc)PROC_NONE;
	*state = f;
	return f->loop ? fd_socketpair(f->a, NULL) | fd_socketpair(f->b, NULL) : -1;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	loop_free(f->loop);
	for (int i = 0; i < 2; i++) {
		close(f->a[i]);
		close(f->b[i]);
	}
	free(f);
	return 0;
}

static inline int once(struct fixture *f)
{
	struct error err;
	int n = loop_once(f->loop, 0, &err);

	if (n < 0)
		fail_msg("%s", err.msg);
	return n;
}

static inline void send_byte(int fd)
{
	assert_int_equal(write(fd, "x", 1), 1);
}

static inline void on_fd(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct fixture *f = data;

	assert_ptr_equal(loop, f->loop);
	f->calls++;
	f->calls_a += fd == f->a[0];
	f->calls_b += fd == f->b[0];
	f->events = events;
}

static inline struct loop_watch *watch(struct fixture *f, int fd, uint32_t events, loop_fd_fn *fn)
{
	struct error err;
	struct loop_watch *w = loop_add_fd(f->loop, fd, events, fn, f, &err);

	if (!w)
		fail_msg("%s", err.msg);
	return w;
}

static inline void remove_self(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct fixture *f = data;

	on_fd(loop, fd, events, data);
	loop_remove(fd == f->a[0] ? f->watch_a : f->watch_b);
	loop_remove(fd == f->a[0] ? f->watch_a : f->watch_b); /* twice is once */
}

static inline void on_signal(struct loop *loop, int signal, void *data)
{
	struct fixture *f = data;

	assert_ptr_equal(loop, f->loop);
	f->calls++;
	f->last = signal;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
