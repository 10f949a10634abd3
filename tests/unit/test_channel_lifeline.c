/* SPDX-License-Identifier: MIT */
/* Tests a lifeline as its far end sees it. */
#include "test_base.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "channel/lifeline.h"

/* Returns the bytes that came before its end. */
static size_t said_on(int far_end)
{
	struct buf said = BUF_INIT(0);
	size_t len;

	assert_int_equal(fd_read_to_end(far_end, &said, NULL), 0);
	len = said.len;
	buf_free(&said);
	return len;
}

static void cut_and_let_go(void **state)
{
	int lines[40], far_ends[40];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(lifeline_open(&lines[i], &far_ends[i], NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (i % 2)
			lifeline_cut(&lines[i]);
		else
			lifeline_let_go(&lines[i]);
		assert_int_equal(lines[i], -1);
		assert_int_equal(said_on(far_ends[i]), i % 2 ? 0 : 1);
		close(far_ends[i]);
		lifeline_cut(&lines[i]); /* there is none any more */
	}
}

/* The maker has a child that executes nothing and lives on. The maker's end is the end of the line,
 * and no action of the child is. */
static void make_and_die(int passing, const int release[2])
{
	int line = -1, far_end = -1;
	char byte;

	if (lifeline_open(&line, &far_end, NULL) < 0)
		_exit(1);
	if (fork() == 0) {
		lifeline_cut(&line);
		close(far_end);
		close(passing);
		close(release[1]);
		_exit(read(release[0], &byte, 1) != 0);
	}
	if (fd_send_passing(passing, "!", 1, &far_end, 1, 0) != 1)
		_exit(2);
	pause();
	_exit(0);
}

static void a_child_that_executes_nothing(void **state)
{
	int release[2], pair[2], far_end = -1;
	struct error ignored;
	size_t count = 1;
	char byte;
	pid_t maker;

	(void)state;
	assert_int_equal(fd_pipe(release, NULL), 0);
	assert_int_equal(fd_socketpair(pair, NULL), 0);
	maker = fork();
	if (maker == 0) {
		close(pair[0]);
		make_and_die(pair[1], release);
	}
	close(pair[1]);
	assert_int_equal(fd_receive_passed(pair[0], &byte, 1, &far_end, &count, 0), 1);
	assert_int_equal(count, 1);
	/* No action of the child on its copy ends anything. */
	assert_int_equal(fd_wait(far_end, POLLIN, clock_mono_ns() + 100 * NS_PER_MS, &ignored), -1);
	assert_int_equal(kill(maker, SIGKILL), 0);
	assert_int_equal(waitpid(maker, NULL, 0), maker);
	assert_int_equal(said_on(far_end), 0);
	close(release[0]);
	close(release[1]);
	close(pair[0]);
	close(far_end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_and_let_go),
		cmocka_unit_test(a_child_that_executes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
