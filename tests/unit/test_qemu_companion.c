/* SPDX-License-Identifier: MIT */
/* Tests companions of a VM, several at once: started, watched, ended, listed, reaped. */
#include "test_base.h"

#include <errno.h>
#include <sys/wait.h>

#include "backend/parts/companion.h"

struct fixture {
	struct loop *loop;
	struct companions all;
	int ended;
	char last[COMPANION_NAME], said[STDERR_LINE];
	int code;
};

static void on_ended(void *data, struct companion *companion)
{
	struct fixture *f = data;

	f->ended++;
	f->code = companion->code;
	snprintf(f->last, sizeof(f->last), "%s", companion->name);
	snprintf(f->said, sizeof(f->said), "%s", companion->stderr_log.last);
	loop_stop(f->loop);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct error err = {0};

	f->loop = loop_new(&err);
	f->all = (struct companions){.loop = f->loop, .ended = on_ended, .data = f};
	*state = f;
	return f->loop ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	companions_free(&f->all);
	loop_free(f->loop);
	free(f);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return 0;
}

static struct companion *start(struct fixture *f, const char *name, bool fatal, const char *script)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	const struct proc_spec spec = {.argv = argv};
	struct error err = {0};
	struct companion *c = companion_add(&f->all, name, fatal, &err);

	assert_non_null(c);
	assert_ok(companion_start(c, &spec, &err));
	return c;
}

static void run(struct fixture *f)
{
	struct error err = {0};

	assert_ok(loop_run(f->loop, &err));
}

static void the_one_that_died_is_named(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	start(f, "first", true, "exec sleep 1000");
	start(f, "second", false, "echo 'no such thing' >&2; exit 7");
	assert_ok(companions_watch(&f->all, &err));
	run(f);
	assert_string_equal(f->last, "second");
	assert_string_equal(f->said, "no such thing");
	assert_int_equal(f->code, 7);
	assert_ptr_equal(companions_lost(&f->all), f->all.first->next);
	assert_false(companions_lost(&f->all)->fatal);
	assert_false(companions_gone(&f->all));
}

static void an_end_of_ours_is_no_loss(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	start(f, "first", true, "exec sleep 1000");
	start(f, "second", true, "exec sleep 1000");
	assert_ok(companions_watch(&f->all, &err));
	companions_end(&f->all);
	while (f->ended < 2)
		run(f);
	assert_int_equal(f->code, 128 + 9);
	assert_null(companions_lost(&f->all));
	assert_true(companions_gone(&f->all));
	companions_end(&f->all); /* of the dead: nothing */
}

static void all_that_were_started_are_listed(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};
	json_auto_t *list = json_array();

	start(f, "first", true, "exec sleep 1000");
	start(f, "second", true, "exec sleep 1000");
	assert_non_null(companion_add(&f->all, "never started", true, &err));
	companions_describe(&f->all, list);
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "name")),
			    "second");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 1), "pid")),
			 f->all.first->next->pid);
}

static void one_that_cannot_be_started_is_not_waited_for(void **state)
{
	struct fixture *f = *state;
	const char *const argv[] = {"/nonexistent/program", NULL};
	const struct proc_spec spec = {.argv = argv};
	struct error err = {0};
	struct companion *c = companion_add(&f->all, "missing", true, &err);

	assert_int_equal(companion_start(c, &spec, &err), -1);
	assert_ok(companions_watch(&f->all, &err));
	assert_true(companions_gone(&f->all));
	assert_null(companions_lost(&f->all));
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(the_one_that_died_is_named),
		WITH(an_end_of_ours_is_no_loss),
		WITH(all_that_were_started_are_listed),
		WITH(one_that_cannot_be_started_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
