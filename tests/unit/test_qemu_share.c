/* SPDX-License-Identifier: MIT */
/* A supervisor that was taken over asks its broker for a directory that a command has handed over:
 * no more of it is to be had than it was handed over for. The rest is tests/e2e/attaching.py's. */
#include "test_base.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "backend/qemu/vm.h"
#include "base/broker.h"
#include "store/share_dir.h"

static struct vm vm = {.label = (char *)"/nonexistent/state/w",
		       .workspace_fd = -1,
		       .lease_fd = -1,
		       .pluggable = true};

/* What the broker says to who asks with that word. */
static void ask(int fd, const char *word, struct error *err)
{
	struct broker_message in = {.len = strlen(word), .nfds = 2, .fds = {fd, 2}}, out;

	strcpy(in.bytes, word);
	*err = (struct error){0};
	assert_int_equal(broker_ask(&vm_share_duty, &in, &out, err), -1);
}

static void no_more_than_was_given(void **state)
{
	static char name[] = "broker";
	static const struct broker_row rows[] = {{&vm_share_duty, &vm, "shares"}};
	const struct broker_spec spec = {.rows = rows, .count = ARRAY_SIZE(rows), .data = name};
	const struct scratch *scratch = *state;
	struct proc broker = PROC_NONE;
	struct error err = {0};

	assert_ok(mkdirat(scratch->fd, "dir", 0700));
	assert_ok(broker_start(&spec, &broker, &err));
	const int to_read = openat(scratch->fd, "dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int by_name = openat(scratch->fd, "dir", O_PATH | O_DIRECTORY | O_CLOEXEC);

	ask(to_read, "rw", &err);
	assert_int_equal(err.code, ERR_DENIED);
	assert_non_null(strstr(err.msg, "/dir was given to be read and not written"));
	/* The word for it is one that only open() sets. */
	assert_ok(fcntl(to_read, F_SETFL, O_RDONLY | SHARE_DIR_WRITABLE | O_APPEND));
	assert_false(fcntl(to_read, F_GETFL) & SHARE_DIR_WRITABLE);
	ask(to_read, "rw", &err);
	assert_int_equal(err.code, ERR_DENIED);
	ask(by_name, "rw", &err);
	assert_string_equal(err.msg, "no directory was given to be shared");
	ask(by_name, "", &err);
	assert_string_equal(err.msg, "no directory was given to be shared");
	close(to_read);
	close(by_name);
	broker_end(&broker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_more_than_was_given, scratch_make,
						scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
