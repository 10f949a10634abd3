/* SPDX-License-Identifier: MIT */
/* Tests the lines of Firecracker's metrics: the newest is kept, and a flood of lines makes no flood
 * of files. */
#include "test_base.h"

#include <sys/inotify.h>

#include "backend/firecracker/firecracker.h"
#include "base/fd.h"
#include "base/limits.h"

enum { LINES = 5000 };

struct fixture {
	struct scratch *scratch;
	struct firecracker fc;
	int writer, changes;
	struct log log;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct error err = {0};
	int ends[2];

	if (scratch_make((void **)&f->scratch) < 0 || fd_pipe(ends, &err) < 0 ||
	    fd_nonblock(ends[0], true, &err) < 0)
		return -1;
	f->writer = ends[1];
	f->changes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	log_init(&f->log, STDERR_FILENO, 0);
	f->fc.vm =
		(struct vm){.loop = loop_new(&err), .log = &f->log, .workspace_fd = f->scratch->fd};
	f->fc.metrics.fd = ends[0];
	limit_set(LIMIT_METRICS_MS, 600000);
	*state = f;
	/* The kernel reports two equal events once, and so what is between them too. */
	return inotify_add_watch(f->changes, f->scratch->path, IN_CREATE | IN_MOVED_TO) < 0
		       ? -1
		       : fc_metrics_open(&f->fc, &err);
}

static int finish(void **state)
{
	struct fixture *f = *state;

	fc_metrics_close(&f->fc.metrics);
	loop_free(f->fc.vm.loop);
	cleanup_close(&f->writer);
	cleanup_close(&f->changes);
	limit_reset(LIMIT_METRICS_MS);
	scratch_remove((void **)&f->scratch);
	free(f);
	return 0;
}

static void say(struct fixture *f, const char *text)
{
	struct error err = {0};

	assert_int_equal(write(f->writer, text, strlen(text)), (ssize_t)strlen(text));
	while (loop_once(f->fc.vm.loop, 0, &err) > 0)
		;
}

/* Returns how often the file was replaced since the last look. */
static int replacements(struct fixture *f)
{
	char bytes[65536] __attribute__((aligned(8)));
	ssize_t n;
	int count = 0;

	while ((n = read(f->changes, bytes, sizeof(bytes))) > 0)
		for (char *p = bytes; p < bytes + n;) {
			const struct inotify_event *event = (const struct inotify_event *)p;

			count += (event->mask & IN_MOVED_TO) != 0;
			p += sizeof(*event) + event->len;
		}
	return count;
}

static void expect_kept(const struct fixture *f, const char *expected)
{
	char text[64] = "";
	autoclose int fd = openat(f->scratch->fd, FC_METRICS_FILE, O_RDONLY | O_CLOEXEC);

	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, expected);
}

static void a_flood_is_kept_once(void **state)
{
	struct fixture *f = *state;
	char line[32];

	say(f, "{\"n\":-1}\n");
	assert_int_equal(replacements(f), 1);
	expect_kept(f, "{\"n\":-1}");
	for (int i = 0; i < LINES; i++) {
		snprintf(line, sizeof(line), "{\"n\":%d}\n", i);
		say(f, line);
	}
	assert_int_equal(replacements(f), 0);
	fc_metrics_drain(&f->fc.metrics);
	assert_int_equal(replacements(f), 1);
	expect_kept(f, "{\"n\":4999}");
}

static void what_a_pipe_holds_is_one_change(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < LINES; i++)
		assert_int_equal(write(f->writer, "{}\n", 3), 3);
	assert_int_equal(write(f->writer, "{\"last\":1}\n{\"half\":", 19), 19);
	fc_metrics_drain(&f->fc.metrics);
	assert_int_equal(replacements(f), 1);
	expect_kept(f, "{\"last\":1}");
	fc_metrics_drain(&f->fc.metrics);
	assert_int_equal(replacements(f), 0);
}

static void the_newest_is_kept_when_its_time_has_come(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	limit_set(LIMIT_METRICS_MS, 1);
	say(f, "{\"n\":1}\n");
	say(f, "{\"n\":2}\n{\"n\":3}\n");
	while (f->fc.metrics.timer)
		assert_true(loop_once(f->fc.vm.loop, 10000, &err) >= 0);
	expect_kept(f, "{\"n\":3}");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
	const struct CMUnitTest tests[] = {
		TEST(a_flood_is_kept_once),
		TEST(what_a_pipe_holds_is_one_change),
		TEST(the_newest_is_kept_when_its_time_has_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
