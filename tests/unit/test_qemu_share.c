/* SPDX-License-Identifier: MIT */
/* A supervisor that was taken over asks its broker for a directory for which a command has handed
 * over a pass: no more is to be had than that says. The rest is tests/e2e/attaching.py's. */
#include "test_base.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "backend/qemu/vm.h"
#include "base/broker.h"
#include "base/fd.h"
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
	char path[4352], text[8192];
	const struct share_wish wish = {
		.path = path, .state_dir = "/nonexistent/state", .read_only = true};
	ssize_t n;

	assert_ok(mkdirat(scratch->fd, "dir", 0700));
	snprintf(path, sizeof(path), "%s/dir", scratch->path);
	assert_ok(broker_start(&spec, &broker, &err));
	const int to_read = share_dir_pass(&wish, &err);
	const int itself = openat(scratch->fd, "dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* As one who can make no file of his own with seals would have it. */
	n = pread(to_read, text, sizeof(text), 0);
	assert_true(n > 0);
	const int forged = fd_memfd("share", text, (size_t)n, &err);

	ask(to_read, "rw", &err);
	assert_int_equal(err.code, ERR_DENIED);
	assert_non_null(strstr(err.msg, "/dir was given to be read and not written"));
	assert_int_equal(pwrite(to_read, "x", 1, 0), -1);
	assert_int_equal(ftruncate(to_read, 1), -1);
	ask(itself, "", &err);
	assert_string_equal(err.msg, "no directory was given to be shared");
	ask(forged, "", &err);
	assert_string_equal(err.msg, "no directory was given to be shared");
	assert_ok(renameat(scratch->fd, "dir", scratch->fd, "other"));
	assert_ok(mkdirat(scratch->fd, "dir", 0700));
	ask(to_read, "", &err);
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "/dir is not what it was"));
	close(to_read);
	close(itself);
	close(forged);
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
