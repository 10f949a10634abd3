/* SPDX-License-Identifier: MIT */
/* Tests a child's lines on stderr: cut when endless, and the last one kept. */
#include "test_base.h"

#include "backend/parts/stderr_log.h"

struct fixture {
	struct loop *loop;
	struct stderr_log log;
	int child;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->loop = loop_new(NULL);
	return stderr_log_open(&f->log, f->loop, "child", NULL, &f->child, NULL);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	stderr_log_close(&f->log);
	loop_free(f->loop);
	if (f->child >= 0)
		close(f->child);
	free(f);
	return 0;
}

static void say(struct fixture *f, const char *text)
{
	assert_int_equal(write(f->child, text, strlen(text)), strlen(text));
}

static void the_last_line_is_kept(void **state)
{
	struct fixture *f = *state;

	say(f, "one\ntwo\n\nthr");
	assert_true(loop_once(f->loop, -1, NULL) > 0);
	assert_string_equal(f->log.last, "two");
	say(f, "ee\n");
	stderr_log_drain(&f->log);
	assert_string_equal(f->log.last, "three");
}

static void the_end_completes_a_line(void **state)
{
	struct fixture *f = *state;

	say(f, "no newline");
	close(steal_fd(&f->child));
	stderr_log_drain(&f->log);
	assert_string_equal(f->log.last, "no newline");
	assert_null(f->log.watch);
	stderr_log_drain(&f->log);
}

static void an_endless_line_is_cut(void **state)
{
	struct fixture *f = *state;
	char text[1001];

	memset(text, 'a', 1000);
	text[1000] = '\0';
	say(f, text);
	stderr_log_drain(&f->log);
	assert_int_equal(strlen(f->log.last), STDERR_LINE - 1);
	assert_int_equal(f->log.len, 1000 - 2 * (STDERR_LINE - 1));
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(the_last_line_is_kept),
		WITH(the_end_completes_a_line),
		WITH(an_endless_line_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
