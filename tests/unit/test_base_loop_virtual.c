/* SPDX-License-Identifier: MIT */
/* Tests timers on the virtual clock, to the nanosecond, and other events that must not wait under
 * it. */
#include "test_base.h"

#include <poll.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/proc.h"

struct fixture {
	struct loop *loop;
	char log[64]; /* one letter a call */
	struct loop_watch *watch[4];
};

struct timer {
	struct fixture *f;
	char letter;
	loop_timer_fn *then; /* what else the callback does */
	struct timer *other;
	struct loop_watch *watch;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	clock_set_virtual(1000);
	f->loop = loop_new(NULL);
	*state = f;
	return f->loop ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	loop_free(f->loop);
	free(f);
	return 0;
}

static void note(struct loop *loop, void *data)
{
	struct timer *t = data;
	size_t n = strlen(t->f->log);

	assert_ptr_equal(loop, t->f->loop);
	assert_true(n + 1 < sizeof(t->f->log));
	t->f->log[n] = t->letter;
	if (t->then)
		t->then(loop, t);
}

/* Sets the clock, makes one round and returns the letters of its calls. */
static const char *round_at(struct fixture *f, uint64_t ns)
{
	struct error err;

	memset(f->log, 0, sizeof(f->log));
	clock_set_virtual(ns);
	int n = loop_once(f->loop, -1, &err); /* never waits, though told to */
	if (n < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(n, strlen(f->log));
	return f->log;
}

static void set(struct timer *t, uint64_t deadline)
{
	struct error err;

	t->watch = loop_add_timer(t->f->loop, deadline, note, t, &err);
	assert_non_null(t->watch);
}

static void fires_at_its_deadline_and_once(void **state)
{
	struct fixture *f = *state;
	struct timer a = {.f = f, .letter = 'a'};

	set(&a, 5000);
	assert_string_equal(round_at(f, 1000), "");
	assert_string_equal(round_at(f, 4999), "");
	assert_string_equal(round_at(f, 5000), "a");
	assert_string_equal(round_at(f, 6000), "");
}

static void fires_in_the_order_of_deadlines(void **state)
{
	struct fixture *f = *state;
	struct timer a = {.f = f, .letter = 'a'}, b = {.f = f, .letter = 'b'};
	struct timer c = {.f = f, .letter = 'c'}, d = {.f = f, .letter = 'd'};

	set(&c, 3000);
	set(&a, 1000);
	set(&d, 3000); /* the same deadline: in the order of setting */
	set(&b, 2000);
	assert_string_equal(round_at(f, 9000), "abcd");
}

static void extreme_deadlines(void **state)
{
	struct fixture *f = *state;
	struct timer never = {.f = f, .letter = 'n'}, past = {.f = f, .letter = 'p'};

	set(&never, UINT64_MAX);
	set(&past, 0);
	assert_string_equal(round_at(f, 1000), "p");
	assert_string_equal(round_at(f, UINT64_MAX - 1), "");
	assert_string_equal(round_at(f, UINT64_MAX), "n");
}

static void interval_repeats_and_skips_what_was_missed(void **state)
{
	struct fixture *f = *state;
	struct timer i = {.f = f, .letter = 'i'};
	struct error err;

	struct loop_watch *w = loop_add_interval(f->loop, 100, note, &i, &err);
	assert_non_null(w);
	assert_string_equal(round_at(f, 1099), "");
	assert_string_equal(round_at(f, 1100), "i");
	assert_string_equal(round_at(f, 1150), "");
	assert_string_equal(round_at(f, 1250), "i"); /* late, but the beat stays: next at 1300 */
	assert_string_equal(round_at(f, 1299), "");
	assert_string_equal(round_at(f, 1300), "i");
	assert_string_equal(round_at(f, 5000), "i"); /* 36 missed ones are not made up for */
	assert_string_equal(round_at(f, 5000), "");
	assert_string_equal(round_at(f, 5099), "");
	assert_string_equal(round_at(f, 5100), "i");
	loop_remove(w);
	assert_string_equal(round_at(f, 9000), "");
}

static void remove_own(struct loop *loop, void *data)
{
	struct timer *t = data;

	(void)loop;
	loop_remove(t->watch);
	loop_remove(t->watch);
}

static void interval_removes_itself(void **state)
{
	struct fixture *f = *state;
	struct timer i = {.f = f, .letter = 'i', .then = remove_own};
	struct error err;

	i.watch = loop_add_interval(f->loop, 100, note, &i, &err);
	assert_string_equal(round_at(f, 1100), "i");
	assert_string_equal(round_at(f, 1200), "");
}

static void remove_other(struct loop *loop, void *data)
{
	struct timer *t = data;

	(void)loop;
	loop_remove(t->other->watch);
}

/* Both are due in the same round. The removed one is never called. */
static void timer_removes_the_next_one(void **state)
{
	struct fixture *f = *state;
	struct timer b = {.f = f, .letter = 'b'}, c = {.f = f, .letter = 'c'};
	struct timer a = {.f = f, .letter = 'a', .then = remove_other, .other = &b};

	set(&a, 2000);
	set(&b, 2000);
	set(&c, 2000);
	assert_string_equal(round_at(f, 2000), "ac");
}

static void add_other(struct loop *loop, void *data)
{
	struct timer *t = data;

	(void)loop;
	set(t->other, 0);
}

/* A timer that a callback sets waits for the next round even if it is due: the loop stays fair. */
static void timer_set_by_a_timer(void **state)
{
	struct fixture *f = *state;
	struct timer b = {.f = f, .letter = 'b'}, c = {.f = f, .letter = 'c'};
	struct timer a = {.f = f, .letter = 'a', .then = add_other, .other = &b};

	set(&a, 2000);
	set(&c, 2000);
	assert_string_equal(round_at(f, 2000), "ac");
	assert_string_equal(round_at(f, 2000), "b");
}

static void again(struct loop *loop, void *data)
{
	struct timer *t = data;

	(void)loop;
	set(t, 0);
}

static void timer_that_sets_itself_does_not_hold_the_round(void **state)
{
	struct fixture *f = *state;
	struct timer a = {.f = f, .letter = 'a', .then = again};

	set(&a, 0);
	for (int i = 0; i < 10; i++)
		assert_string_equal(round_at(f, 1000), "a");
}

static void hear(struct loop *loop, int fd, uint32_t events, void *data)
{
	char c;

	(void)events;
	assert_int_equal(read(fd, &c, 1), 1);
	note(loop, data);
}

static void descriptors_come_before_timers(void **state)
{
	struct fixture *f = *state;
	struct timer a = {.f = f, .letter = 't'}, b = {.f = f, .letter = 'f', .other = &a};
	struct error err;
	int p[2];

	assert_ok(fd_pipe(p, &err));
	struct loop_watch *w = loop_add_fd(f->loop, p[0], LOOP_IN, hear, &b, &err);
	assert_non_null(w);
	set(&a, 0);
	assert_ok(fd_write_all(p[1], "x", 1, &err));
	assert_string_equal(round_at(f, 1000), "ft");
	b.then = remove_other; /* an answer in time cancels its deadline */
	set(&a, 2000);
	assert_ok(fd_write_all(p[1], "x", 1, &err));
	assert_string_equal(round_at(f, 2000), "f");
	loop_remove(w);
	close(p[0]);
	close(p[1]);
}

static void waits_do_not_hang_on_a_standing_clock(void **state)
{
	static const char *const argv[] = {"sleep", "1000", NULL};
	struct proc p = PROC_NONE;
	struct error err;
	int ends[2], code;

	(void)state;
	clock_set_virtual(1000);
	assert_ok(fd_pipe(ends, &err));
	assert_int_equal(fd_wait(ends[0], POLLIN, 999999, &err), -1);
	assert_code(err, ERR_TIMEOUT);
	assert_ok(fd_wait(ends[1], POLLOUT, 999999, &err));
	assert_ok(proc_spawn(&(struct proc_spec){.argv = argv, .die_with_parent = true}, &p, &err));
	assert_int_equal(proc_wait(&p, 999999, &code, &err), -1);
	assert_code(err, ERR_TIMEOUT);
	proc_end(&p);
	assert_int_equal(proc_run(argv, NULL, 999999, &err), -1);
	assert_code(err, ERR_TIMEOUT);
	close(ends[0]);
	close(ends[1]);
}

/* 300 timers at random deadlines, removed at random, against the plain rule. */
static void many_timers(void **state)
{
	struct fixture *f = *state;
	struct timer timers[300];
	uint64_t deadline[300];
	unsigned random = 99;

	for (int i = 0; i < 300; i++) {
		random = random * 1103515245 + 12345;
		deadline[i] = 1001 + (random >> 16) % 1000;
		timers[i] = (struct timer){.f = f, .letter = '.'};
		set(&timers[i], deadline[i]);
	}
	for (int i = 0; i < 300; i += 3) {
		loop_remove(timers[i].watch);
		deadline[i] = UINT64_MAX;
	}
	for (uint64_t now = 1000; now <= 2001; now += 7) {
		size_t due = 0;
		for (int i = 0; i < 300; i++)
			due += deadline[i] <= now && deadline[i] + 7 > now;
		assert_int_equal(strlen(round_at(f, now)), due);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fires_at_its_deadline_and_once),
		TEST(fires_in_the_order_of_deadlines),
		TEST(extreme_deadlines),
		TEST(interval_repeats_and_skips_what_was_missed),
		TEST(interval_removes_itself),
		TEST(timer_removes_the_next_one),
		TEST(timer_set_by_a_timer),
		TEST(timer_that_sets_itself_does_not_hold_the_round),
		TEST(descriptors_come_before_timers),
		TEST(waits_do_not_hang_on_a_standing_clock),
		TEST(many_timers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
