/* SPDX-License-Identifier: MIT */
/* A supervisor that was taken over asks its broker for a directory, for which a command has written
 * a pass or not. It gets no more than the pass allows. tests/e2e/attaching.py has the rest. */
#include "test_base.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "backend/parts/vm.h"
#include "base/broker.h"
#include "store/share/pass.h"

static char label[4352];
static program_finder *const binaries[] = {program_true, NULL};
static const struct vmm_kind kind = {.binaries = binaries};
static struct vm vm = {
	.kind = &kind, .label = label, .workspace_fd = -1, .lease_fd = -1, .pluggable = true};

/* Returns the broker's answer to a request with that word. */
static void assert_refused(const char *word, enum error_code code, const char *why)
{
	struct broker_message in = {.len = strlen(word), .nfds = 1, .fds = {2}}, out;
	struct error err = {0};

	strcpy(in.bytes, word);
	assert_int_equal(broker_ask(&vm_share_duty, &in, &out, &err), -1);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.msg, why));
}

static void no_more_than_was_given(void **state)
{
	static char name[] = "broker";
	static const char none[] =
		"the broker refuses to share a directory, because no command is sharing one with this machine: this is a bug, or the live supervisor was taken over";
	static const char *const no_words[] = {"", "r", "w", "x0", "r8", "r-", "r00", "rw"};
	static const struct broker_row rows[] = {{&vm_share_duty, &vm, "shares"}};
	const struct broker_spec spec = {.rows = rows, .count = ARRAY_SIZE(rows), .data = name};
	const struct scratch *scratch = *state;
	char place[512];
	struct state_dir dir = {.path = place, .fd = -1};
	const struct workspace ws = {.dir = &dir, .id = (char *)"w", .fd = -1},
			       other = {.dir = &dir, .id = (char *)"v", .fd = -1};
	struct proc broker = PROC_NONE;
	struct error err = {0};
	char path[4352];
	const struct share_wish wish = {
		.path = path, .state_dir = "/nonexistent/state", .read_only = true};
	const struct share_pass_row row = {wish, {SHARE_CACHE_ALWAYS, 30, true}};
	struct share_terms given = {0};

	assert_ok(mkdirat(scratch->fd, "dir", 0700));
	assert_ok(mkdirat(scratch->fd, "state", 0700));
	snprintf(path, sizeof(path), "%s/dir", scratch->path);
	snprintf(place, sizeof(place), "%s/state", scratch->path);
	snprintf(label, sizeof(label), "%s/w", place);
	dir.fd = openat(scratch->fd, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ok(broker_start(&spec, &broker, &err));
	assert_refused("r0", ERR_DENIED, none);
	for (size_t i = 0; i < ARRAY_SIZE(no_words); i++)
		assert_refused(
			no_words[i], ERR_INVALID,
			"the broker refuses a request to share a directory, because the request is malformed: this is a bug, or the live supervisor was taken over");
	int others = share_pass_give(&other, &row, 1, &err);
	assert_true(others >= 0);
	assert_refused("r0", ERR_DENIED, none);

	int pass = share_pass_give(&ws, &row, 1, &err);
	assert_true(pass >= 0);
	assert_int_equal(share_pass_give(&ws, &row, 1, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_string_equal(
		err.msg,
		"another command is sharing a directory with this machine: try again when that command has ended");
	assert_refused(
		"w0", ERR_DENIED,
		"/dir writable, because it was shared read-only: this is a bug, or the live supervisor was taken over");
	assert_refused("r1", ERR_DENIED, none); /* of one there is no second */
	assert_ok(renameat(scratch->fd, "dir", scratch->fd, "other"));
	assert_ok(mkdirat(scratch->fd, "dir", 0700));
	assert_refused(
		"r0", ERR_CONFLICT,
		"/dir is not shared, because it was replaced by another directory meanwhile: try again");
	/* Its command was killed. */
	close(pass);
	assert_refused("r0", ERR_DENIED, none);
	pass = share_pass_give(&ws, &row, 1, &err);
	assert_refused(
		"w0", ERR_DENIED,
		"/dir writable, because it was shared read-only: this is a bug, or the live supervisor was taken over");
	int opened = share_pass_redeem(label, 0, &wish, &given, &err);
	assert_true(opened >= 0);
	close(opened);
	assert_int_equal(given.cache, SHARE_CACHE_ALWAYS);
	assert_int_equal(given.timeout_seconds, 30);
	assert_true(given.locks);
	share_pass_end(&pass);
	assert_int_equal(pass, -1);
	assert_refused("r0", ERR_DENIED, none);
	share_pass_end(&others);
	workspace_lock_remove(&dir, "w");
	workspace_lock_remove(&dir, "v");
	assert_ok(unlinkat(dir.fd, ".locks", AT_REMOVEDIR)); /* nothing is left in it */
	close(dir.fd);
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
