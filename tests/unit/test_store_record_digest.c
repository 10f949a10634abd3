/* SPDX-License-Identifier: MIT */
/* Tests the digests of records: what is accepted before, between and after the writes of a
 * change. */
#include "store_fixture.h"

#include "base/json.h"
#include "store/record_digest.h"

#define RECORD "workspace.json"
#define DIGESTS ".locks/.record-agent-1"

static json_t *value(int64_t i)
{
	return json_pack("{s:I, s:{s:I, s:i}}", "format", (json_int_t)1, "config", "memoryMiB",
			 (json_int_t)i, "a", 1);
}

static void write_value(const struct fixture *f, int64_t i)
{
	json_auto_t *now = value(i);
	struct error err = {0};

	assert_int_equal(workspace_write(&f->ws, RECORD, now, STORE_NO_SYNC, &err), 0);
}

static void announce(const struct fixture *f, int64_t i)
{
	json_auto_t *next = value(i);
	struct error err = {0};

	assert_int_equal(record_digest_announce(&f->ws, RECORD, next, &err), 0);
}

static void settle(const struct fixture *f, int64_t i)
{
	json_auto_t *now = value(i);
	struct error err = {0};

	assert_int_equal(record_digest_settle(&f->ws, RECORD, now, &err), 0);
}

static bool accepts(const struct fixture *f, int64_t i)
{
	struct error err = {0};

	write_value(f, i);
	json_auto_t *record = workspace_read_accepted(&f->ws, RECORD, &err);
	if (!record) {
		assert_int_equal(err.code, ERR_CONFLICT);
		assert_int_equal(err.reason, REASON_RECORD_CHANGED);
		assert_non_null(strstr(err.msg, "agent-1/" RECORD " was changed"));
		assert_string_equal(err.subject, at(f, DIGESTS));
	}
	return record != NULL;
}

static void a_change_is_accepted_at_each_step(void **state)
{
	const struct fixture *f = *state;

	assert_true(accepts(f, 1)); /* nothing was recorded yet */
	settle(f, 1);
	assert_true(accepts(f, 1));
	assert_false(accepts(f, 2));
	write_value(f, 1);
	announce(f, 2);
	assert_true(accepts(f, 1));
	assert_true(accepts(f, 2));
	assert_false(accepts(f, 3));
	write_value(f, 2);
	announce(f, 4); /* the earlier command was killed before it settled */
	assert_true(accepts(f, 2));
	assert_true(accepts(f, 4));
	assert_false(accepts(f, 1));
	settle(f, 4);
	assert_false(accepts(f, 2));
	assert_true(accepts(f, 4));
}

static void what_was_not_accepted_is_not_by_a_change(void **state)
{
	const struct fixture *f = *state;

	write_value(f, 1);
	settle(f, 1);
	write_value(f, 7);
	announce(f, 2);
	assert_false(accepts(f, 7));
	assert_false(accepts(f, 1)); /* it does not exist any more */
	assert_true(accepts(f, 2));
}

static void the_first_record_replaces_nothing(void **state)
{
	const struct fixture *f = *state;
	json_auto_t *first = value(1);
	struct error err = {0};
	struct stat st;

	assert_int_equal(workspace_write_accepted(&f->ws, RECORD, first, STORE_NO_SYNC, &err), 0);
	assert_true(accepts(f, 1));
	assert_false(accepts(f, 2));
	workspace_lock_remove(&f->dir, "agent-1");
	assert_int_equal(stat(at(f, DIGESTS), &st), -1);
	assert_true(accepts(f, 2));
}

static void only_the_value_counts(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};

	write_value(f, 1);
	settle(f, 1);
	put_file(f, "agent-1/" RECORD, "{\"config\":{\"a\":1,\n\"memoryMiB\":1},\"format\":1}");
	json_auto_t *record = workspace_read_accepted(&f->ws, RECORD, &err);
	assert_non_null(record);
}

/* A loss of power may leave an empty file. */
static void digests_that_were_lost_or_damaged(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};

	write_value(f, 1);
	settle(f, 1);
	put_file(f, DIGESTS, "");
	assert_true(accepts(f, 2));
	for (size_t i = 0; i < 3; i++) {
		static const char *const damage[] = {"x", "00\n", "\n"};

		put_file(f, DIGESTS, damage[i]);
		assert_null(workspace_read_accepted(&f->ws, RECORD, &err));
		assert_int_equal(err.code, ERR_IO);
		assert_non_null(strstr(err.msg, "has no digests in it"));
	}
}

/* The live supervisor writes some members of a session's record by itself. */
static void what_is_the_live_supervisors_does_not_count(void **state)
{
	const struct fixture *f = *state;
	json_auto_t *record =
		json_pack("{s:s, s:I}", "base", "web-v1", "quotaBytes", (json_int_t)1);
	struct error err = {0};

	assert_int_equal(
		workspace_write_accepted(&f->ws, "session.json", record, STORE_NO_SYNC, &err), 0);
	json_object_set_new(record, "quotaBytes", json_integer(2));
	json_object_set_new(record, "endsAt", json_string("2026-05-10T14:22:00.000Z"));
	assert_int_equal(workspace_write(&f->ws, "session.json", record, STORE_NO_SYNC, &err), 0);
	json_auto_t *read = workspace_read_accepted(&f->ws, "session.json", &err);
	assert_non_null(read);
	json_object_set_new(record, "base", json_string("web-v2"));
	assert_int_equal(workspace_write(&f->ws, "session.json", record, STORE_NO_SYNC, &err), 0);
	assert_null(workspace_read_accepted(&f->ws, "session.json", &err));
	assert_int_equal(err.code, ERR_CONFLICT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(a_change_is_accepted_at_each_step),
		store_test(what_was_not_accepted_is_not_by_a_change),
		store_test(the_first_record_replaces_nothing),
		store_test(only_the_value_counts),
		store_test(digests_that_were_lost_or_damaged),
		store_test(what_is_the_live_supervisors_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
