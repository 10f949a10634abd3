/* SPDX-License-Identifier: MIT */
/* Tests the loop's signals and processes, and large numbers of anything. */
#include "test_base_loop.h"

static void signals_are_delivered(void **state)
{
	struct fixture *f = *state;
	struct error err;

	struct loop_watch *w = loop_add_signal(f->loop, SIGUSR1, on_signal, f, &err);
	assert_non_null(w);
	assert_non_null(loop_add_signal(f->loop, SIGTERM, on_signal, f, &err));
	assert_int_equal(once(f), 0);
	raise(SIGUSR1);
	assert_int_equal(once(f), 1);
	assert_int_equal(f->last, SIGUSR1);
	raise(SIGTERM);
	assert_int_equal(once(f), 1);
	assert_int_equal(f->last, SIGTERM);
	loop_remove(w);
	raise(SIGUSR1); /* still blocked: it does not kill us */
	assert_int_equal(once(f), 0);
	w = loop_add_signal(f->loop, SIGUSR1, on_signal, f, &err);
	assert_int_equal(once(f), 1); /* it was pending */
}

static void on_proc(struct loop *loop, int code, void *data)
{
	struct fixture *f = data;

	assert_ptr_equal(loop, f->loop);
	assert_int_equal(f->proc.pid, 0);
	assert_int_equal(f->proc.pidfd, -1);
	f->calls++;
	f->last = code;
}

static void spawn(struct fixture *f, const char *script)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct error err;

	assert_ok(proc_spawn(&(struct proc_spec){.argv = argv}, &f->proc, &err));
}

static void processes_are_reaped(void **state)
{
	static const struct {
		const char *script;
		int code;
	} rows[] = {{"exit 7", 7}, {"kill -TERM $$", 143}, {"exit 0", 0}};
	struct fixture *f = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		spawn(f, rows[i].script);
		assert_non_null(loop_add_proc(f->loop, &f->proc, on_proc, f, &err));
		while (f->calls == (int)i)
			assert_true(loop_once(f->loop, -1, &err) >= 0);
		assert_int_equal(f->last, rows[i].code);
		assert_int_equal(once(f), 0);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void process_reaped_elsewhere_is_told_as_255(void **state)
{
	struct fixture *f = *state;
	struct error err;

	spawn(f, "exit 0");
	assert_non_null(loop_add_proc(f->loop, &f->proc, on_proc, f, &err));
	assert_int_equal(waitpid(f->proc.pid, NULL, 0), f->proc.pid);
	assert_int_equal(loop_once(f->loop, -1, &err), 1);
	assert_int_equal(f->last, 255);
}

static void removed_process_watch_leaves_the_process(void **state)
{
	struct fixture *f = *state;
	struct error err;
	int code;

	spawn(f, "exit 5");
	loop_remove(loop_add_proc(f->loop, &f->proc, on_proc, f, &err));
	assert_ok(proc_wait(&f->proc, UINT64_MAX, &code, &err));
	assert_int_equal(code, 5);
	assert_int_equal(once(f), 0);
}

static void nested_round(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct fixture *f = data;
	struct error err;

	on_fd(loop, fd, events, data);
	loop_remove(f->watch_a);
	send_byte(f->b[1]);
	assert_int_equal(loop_once(loop, 0, &err), 1); /* b, which removes itself */
	assert_int_equal(f->calls_b, 1);
}

/* A callback may wait for something else. What is removed inside stays removed outside. */
static void rounds_nest(void **state)
{
	struct fixture *f = *state;

	f->watch_a = watch(f, f->a[0], LOOP_IN, nested_round);
	f->watch_b = watch(f, f->b[0], LOOP_IN, remove_self);
	send_byte(f->a[1]);
	assert_int_equal(once(f), 1);
	assert_int_equal(f->calls, 2);
	assert_int_equal(once(f), 0);
}

static void more_descriptors_than_a_round_takes(void **state)
{
	struct fixture *f = *state;
	int pairs[100][2], calls = 0;

	for (int i = 0; i < 100; i++) {
		assert_int_equal(fd_socketpair(pairs[i], NULL), 0);
		watch(f, pairs[i][0], LOOP_OUT, on_fd);
	}
	calls += once(f);
	calls += once(f);
	assert_true(calls >= 100); /* the kernel takes turns */
	for (int i = 0; i < 100; i++) {
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	assert_int_equal(once(f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(signals_are_delivered),
		TEST(processes_are_reaped),
		TEST(process_reaped_elsewhere_is_told_as_255),
		TEST(removed_process_watch_leaves_the_process),
		TEST(rounds_nest),
		TEST(more_descriptors_than_a_round_takes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
