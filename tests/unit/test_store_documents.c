/* SPDX-License-Identifier: MIT */
/* Tests documents of a workspace: written, read, absent and damaged. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/limits.h"
#include "contract/response.h"
#include "store_fixture.h"

#include <sys/file.h>

static void write_and_read(void **state)
{
	static const enum store_sync syncs[] = {STORE_NO_SYNC, STORE_SYNC};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(syncs); i++) {
		json_auto_t *value = json_pack("{s:i,s:s}", "n", (int)i, "text", "\xc3\xa4");
		struct error err = {0};
		struct stat st;

		assert_int_equal(workspace_write(&f->ws, "runtime.json", value, syncs[i], &err), 0);
		json_auto_t *back = workspace_read(&f->ws, "runtime.json", &err);
		assert_true(json_equal(value, back));
		assert_int_equal(stat(at(f, "agent-1/runtime.json"), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		autofree char *text = get_file(f, "agent-1/runtime.json");
		assert_int_equal(text[strlen(text) - 1], '\n');
	}
}

static void absent_documents(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct workspace ws;

	assert_null(workspace_read(&f->ws, "result.json", &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, at(f, "agent-1/result.json")));
	assert_int_equal(workspace_open(&f->dir, "none", false, &ws, &err), 0);
	assert_null(workspace_read(&ws, "result.json", &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	workspace_close(&ws);
}

static void assert_bad(const struct fixture *f, const char *file)
{
	struct error err = {0};
	char name[64];

	assert_null(workspace_read(&f->ws, file, &err));
	assert_int_equal(err.code, ERR_IO);
	snprintf(name, sizeof(name), "agent-1/%s", file);
	if (!strstr(err.msg, at(f, name)))
		fail_msg("\"%s\" does not name the file", err.msg);
	assert_int_equal(err.reason, REASON_WORKSPACE_DAMAGED);
	assert_string_equal(err.subject, "agent-1");
}

static void damaged_documents(void **state)
{
	static const char *const texts[] = {
		"", "{", "{}}", "[]", "null", "\"x\"", "{\"a\":1,\"a\":2}", "\xff\xfe"};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put_file(f, "agent-1/workspace.json", texts[i]);
		assert_bad(f, "workspace.json");
	}
	put_file(f, "agent-1/events.json", "{}"); /* a list belongs there */
	assert_bad(f, "events.json");
}

static void documents_that_are_no_files(void **state)
{
	const struct fixture *f = *state;

	put_file(f, "real", "{}");
	assert_int_equal(symlink("../real", at(f, "agent-1/workspace.json")), 0);
	assert_bad(f, "workspace.json");
	assert_int_equal(mkdir(at(f, "agent-1/event.json"), 0700), 0);
	assert_bad(f, "event.json");
	assert_int_equal(mkfifo(at(f, "agent-1/runtime.json"), 0600), 0);
	assert_bad(f, "runtime.json");
}

static void an_oversized_document(void **state)
{
	const struct fixture *f = *state;
	const char *path = at(f, "agent-1/workspace.json");

	put_file(f, "agent-1/workspace.json", "{}");
	assert_int_equal(truncate(path, (off_t)limit_get(LIMIT_STATE_FILE_BYTES) + 1), 0);
	assert_bad(f, "workspace.json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(write_and_read),	   store_test(absent_documents),
		store_test(damaged_documents),	   store_test(documents_that_are_no_files),
		store_test(an_oversized_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
