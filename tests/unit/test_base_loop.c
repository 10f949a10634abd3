/* SPDX-License-Identifier: MIT */
/* Tests the loop on the real clock; test_base_loop_virtual.c has the timers. */
#include "test_base_loop.h"

static void readiness_is_level_triggered(void **state)
{
	struct fixture *f = *state;
	char c;

	watch(f, f->a[0], LOOP_IN, on_fd);
	assert_int_equal(once(f), 0);
	send_byte(f->a[1]);
	assert_int_equal(once(f), 1);
	assert_int_equal(once(f), 1);
	assert_int_equal(f->events, LOOP_IN);
	assert_int_equal(read(f->a[0], &c, 1), 1);
	assert_int_equal(once(f), 0);
	assert_int_equal(f->calls, 2);
}

static void events_can_be_changed(void **state)
{
	struct fixture *f = *state;
	struct loop_watch *w = watch(f, f->a[0], 0, on_fd);
	struct error err;

	send_byte(f->a[1]);
	assert_int_equal(once(f), 0);
	assert_ok(loop_set_events(w, LOOP_IN, &err));
	assert_int_equal(once(f), 1);
	assert_ok(loop_set_events(w, LOOP_OUT, &err));
	assert_int_equal(once(f), 1);
	assert_int_equal(f->events, LOOP_OUT);
	assert_ok(loop_set_events(w, LOOP_IN | LOOP_OUT, &err));
	assert_int_equal(once(f), 1);
	assert_int_equal(f->events, LOOP_IN | LOOP_OUT);
	assert_ok(loop_set_events(w, 0, &err));
	assert_ok(loop_set_events(w, 0, &err));
	assert_int_equal(once(f), 0);
	assert_ok(loop_set_events(w, LOOP_IN, &err));
	assert_int_equal(once(f), 1);
}

/* With back-pressure a watch waits for nothing. A peer that hangs up must not make the loop
 * spin. */
static void no_events_means_no_hangup_either(void **state)
{
	struct fixture *f = *state;
	struct loop_watch *w = watch(f, f->a[0], LOOP_IN, on_fd);
	struct error err;

	assert_ok(loop_set_events(w, 0, &err));
	close(f->a[1]);
	f->a[1] = dup(f->b[1]);
	assert_int_equal(once(f), 0);
	assert_ok(loop_set_events(w, LOOP_IN | LOOP_RDHUP, &err));
	assert_int_equal(once(f), 1);
	assert_true(f->events & LOOP_HUP);
	assert_true(f->events & LOOP_RDHUP);
}

/* New bytes, and the end of the peer's sending, do not wake a watch that waits for the end only. */
static void hangup_alone_can_be_waited_for(void **state)
{
	struct fixture *f = *state;

	watch(f, f->a[0], LOOP_HUP, on_fd);
	send_byte(f->a[1]);
	assert_int_equal(once(f), 0);
	assert_int_equal(shutdown(f->a[1], SHUT_WR), 0);
	assert_int_equal(once(f), 0);
	close(f->a[1]);
	f->a[1] = dup(f->b[1]);
	assert_int_equal(once(f), 1);
	assert_int_equal(f->events, LOOP_HUP);
}

static void bad_descriptors_are_refused(void **state)
{
	struct fixture *f = *state;
	struct error err;

	assert_null(loop_add_fd(f->loop, -1, LOOP_IN, on_fd, f, &err));
	assert_int_equal(err.errnum, EBADF);
	watch(f, f->a[0], LOOP_IN, on_fd);
	assert_null(loop_add_fd(f->loop, f->a[0], LOOP_IN, on_fd, f, &err));
	assert_code(err, ERR_CONFLICT);
	assert_null(loop_add_signal(f->loop, 12345, NULL, f, &err));
	assert_null(loop_add_interval(f->loop, 0, NULL, f, &err));
	assert_code(err, ERR_INVALID);
	assert_null(loop_add_proc(f->loop, &f->proc, NULL, f, &err));
	loop_remove(NULL);
}

static void regular_files_are_always_ready(void **state)
{
	struct fixture *f = *state;
	autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	autoclose int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct error err;

	watch(f, f->a[0], LOOP_IN, on_fd);
	struct loop_watch *w = watch(f, file, LOOP_IN, on_fd);
	watch(f, null, LOOP_OUT, on_fd);
	/* -1 would wait for ever, were they not ready */
	assert_int_equal(loop_once(f->loop, -1, &err), 2);
	send_byte(f->a[1]);
	assert_int_equal(loop_once(f->loop, -1, &err), 3);
	assert_ok(loop_set_events(w, 0, &err));
	assert_int_equal(once(f), 2);
	assert_ok(loop_set_events(w, LOOP_IN, &err));
	assert_int_equal(once(f), 3);
	loop_remove(w);
	assert_int_equal(once(f), 2);
}

static void watch_removes_itself(void **state)
{
	struct fixture *f = *state;

	f->watch_a = watch(f, f->a[0], LOOP_IN, remove_self);
	f->watch_b = watch(f, f->b[0], LOOP_IN, remove_self);
	send_byte(f->a[1]);
	send_byte(f->b[1]);
	assert_int_equal(once(f), 2);
	assert_int_equal(once(f), 0);
}

static void remove_the_other(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct fixture *f = data;

	on_fd(loop, fd, events, data);
	loop_remove(f->other ? NULL : fd == f->a[0] ? f->watch_b : f->watch_a);
	f->other = f->watch_a; /* says that one was removed */
}

/* Both are ready in the same round. Whichever is called first, the other is not called any more. */
static void watch_removes_the_next_of_its_round(void **state)
{
	struct fixture *f = *state;

	f->watch_a = watch(f, f->a[0], LOOP_IN, remove_the_other);
	f->watch_b = watch(f, f->b[0], LOOP_IN, remove_the_other);
	send_byte(f->a[1]);
	send_byte(f->b[1]);
	assert_int_equal(once(f), 1);
	assert_int_equal(f->calls, 1);
	assert_int_equal(once(f), 1);
	assert_int_equal(f->calls_a == 2 || f->calls_b == 2, 1);
}

/* The number of the closed descriptor is used again at once, for a new watch. */
static void replace_the_other(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct fixture *f = data;
	int *other = fd == f->a[0] ? f->b : f->a;
	struct loop_watch **its = fd == f->a[0] ? &f->watch_b : &f->watch_a;

	on_fd(loop, fd, events, data);
	if (f->calls > 1)
		return;
	loop_remove(*its);
	close(other[0]);
	close(other[1]);
	assert_int_equal(fd_socketpair(other, NULL), 0);
	*its = watch(f, other[0], LOOP_IN, on_fd);
}

static void reused_number_gets_no_stale_event(void **state)
{
	struct fixture *f = *state;

	f->watch_a = watch(f, f->a[0], LOOP_IN, replace_the_other);
	f->watch_b = watch(f, f->b[0], LOOP_IN, replace_the_other);
	send_byte(f->a[1]);
	send_byte(f->b[1]);
	assert_int_equal(once(f), 1);
	assert_int_equal(once(f), 1);
	assert_true(f->calls_a == 2 || f->calls_b == 2);
}

static void silence_the_other(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct fixture *f = data;

	on_fd(loop, fd, events, data);
	loop_set_events(fd == f->a[0] ? f->watch_b : f->watch_a, 0, NULL);
}

static void silenced_watch_is_not_called_in_the_round(void **state)
{
	struct fixture *f = *state;

	f->watch_a = watch(f, f->a[0], LOOP_IN, silence_the_other);
	f->watch_b = watch(f, f->b[0], LOOP_IN, silence_the_other);
	send_byte(f->a[1]);
	send_byte(f->b[1]);
	assert_int_equal(once(f), 1);
}

static void want_hangups_only(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct fixture *f = data;

	on_fd(loop, fd, events, data);
	loop_set_events(fd == f->a[0] ? f->watch_b : f->watch_a, LOOP_RDHUP, NULL);
}

static void event_no_longer_wanted_is_dropped(void **state)
{
	struct fixture *f = *state;

	f->watch_a = watch(f, f->a[0], LOOP_IN, want_hangups_only);
	f->watch_b = watch(f, f->b[0], LOOP_IN, want_hangups_only);
	send_byte(f->a[1]);
	send_byte(f->b[1]);
	assert_int_equal(once(f), 1);
	assert_int_equal(f->events, LOOP_IN);
}

static void remove_all(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct fixture *f = data;

	on_fd(loop, fd, events, data);
	loop_remove(f->watch_a);
	loop_remove(f->watch_b);
	loop_remove(f->other);
}

/* The loop walks a list of them. The next one of the list is removed, and the one after. */
static void always_ready_watches_are_removed_in_their_round(void **state)
{
	struct fixture *f = *state;
	int fds[3];

	for (int i = 0; i < 3; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	f->watch_a = watch(f, fds[0], LOOP_IN, remove_all);
	f->watch_b = watch(f, fds[1], LOOP_IN, remove_all);
	f->other = watch(f, fds[2], LOOP_IN, remove_all);
	assert_int_equal(once(f), 1);
	assert_int_equal(once(f), 0);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void on_timer(struct loop *loop, void *data)
{
	struct fixture *f = data;

	assert_ptr_equal(loop, f->loop);
	f->calls++;
	loop_stop(loop);
}

static void run_until_stopped_by_a_real_timer(void **state)
{
	struct fixture *f = *state;
	uint64_t deadline = clock_mono_ns() + 2 * NS_PER_MS;
	struct error err;

	assert_non_null(loop_add_timer(f->loop, deadline, on_timer, f, &err));
	assert_ok(loop_run(f->loop, &err));
	assert_int_equal(f->calls, 1);
	assert_true(clock_mono_ns() >= deadline);
	/* The timerfd serves the next timers: one that is over is the earliest. */
	assert_non_null(loop_add_timer(f->loop, deadline, on_timer, f, &err));
	assert_ok(loop_run(f->loop, &err));
	assert_non_null(loop_add_timer(f->loop, 0, on_timer, f, &err));
	assert_ok(loop_run(f->loop, &err));
	assert_non_null(loop_add_interval(f->loop, NS_PER_MS, on_timer, f, &err));
	assert_ok(loop_run(f->loop, &err));
	assert_ok(loop_run(f->loop, &err));
	assert_int_equal(f->calls, 5);
}

static void stop_before_run_counts(void **state)
{
	struct fixture *f = *state;
	struct error err;

	loop_stop(f->loop);
	assert_ok(loop_run(f->loop, &err));
}

static void free_closes_only_its_own(void **state)
{
	struct fixture *f = *state;
	int before = open_descriptors();
	struct error err;

	struct loop *loop = loop_new(&err);
	assert_non_null(loop_add_fd(loop, f->a[0], LOOP_IN, on_fd, f, &err));
	assert_non_null(loop_add_signal(loop, SIGUSR2, on_signal, f, &err));
	assert_non_null(loop_add_timer(loop, UINT64_MAX, on_timer, f, &err));
	assert_int_equal(loop_once(loop, 0, &err), 0);
	loop_free(loop);
	loop_free(NULL);
	assert_int_equal(open_descriptors(), before);
	send_byte(f->a[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(readiness_is_level_triggered),
		TEST(events_can_be_changed),
		TEST(no_events_means_no_hangup_either),
		TEST(hangup_alone_can_be_waited_for),
		TEST(bad_descriptors_are_refused),
		TEST(regular_files_are_always_ready),
		TEST(watch_removes_itself),
		TEST(watch_removes_the_next_of_its_round),
		TEST(reused_number_gets_no_stale_event),
		TEST(silenced_watch_is_not_called_in_the_round),
		TEST(event_no_longer_wanted_is_dropped),
		TEST(always_ready_watches_are_removed_in_their_round),
		TEST(run_until_stopped_by_a_real_timer),
		TEST(stop_before_run_counts),
		TEST(free_closes_only_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
