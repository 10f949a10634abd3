/* SPDX-License-Identifier: MIT */
/* Tests the quota of a session's disk, and the other members of its record. */
#include "session_fixture.h"

#define MIB (INT64_C(1) << 20)

static int64_t quota_of(int64_t disk, int64_t mib)
{
	const struct microagent_session_spec spec = {.disk_quota_mib = mib};
	struct base base = BASE_NONE;
	int64_t bytes = -1;

	base.metadata = json_pack("{s:{s:I}}", "disk", "bytes", (json_int_t)disk);
	assert_ok(session_quota_of(&base, &spec, &bytes, &err));
	base_close(&base);
	return bytes;
}

static void the_quota_of_a_new_session(void **state)
{
	(void)state;
	limit_set(LIMIT_DISK_QUOTA_BYTES, 1000 * MIB);
	limit_set(LIMIT_DISK_QUOTA_MIB_MAX, 5000);
	assert_int_equal(quota_of(400 * MIB, 0), 400 * MIB);
	assert_int_equal(quota_of(999 * MIB, 0), 999 * MIB);
	assert_int_equal(quota_of(1001 * MIB, 0), 1000 * MIB);
	assert_int_equal(quota_of(400 * MIB, 1), MIB);
	assert_int_equal(quota_of(400 * MIB, 5000), 5000 * MIB);
	limit_reset(LIMIT_DISK_QUOTA_BYTES);
	limit_reset(LIMIT_DISK_QUOTA_MIB_MAX);
}

static void what_no_quota_is(void **state)
{
	static const int64_t wrong[] = {-1, 5001, INT64_MAX, INT64_MIN};
	struct base base = BASE_NONE;
	int64_t bytes = 7;

	(void)state;
	limit_set(LIMIT_DISK_QUOTA_MIB_MAX, 5000);
	base.metadata = json_pack("{s:{s:i}}", "disk", "bytes", 1);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const struct microagent_session_spec spec = {.disk_quota_mib = wrong[i]};

		assert_fails(session_quota_of(&base, &spec, &bytes, &err), ERR_INVALID,
			     "between 1 and 5000 MiB");
		assert_int_equal(bytes, 7);
	}
	base_close(&base);
	limit_reset(LIMIT_DISK_QUOTA_MIB_MAX);
}

static struct microagent_session *open_one(const struct rig *rig, const char *name)
{
	struct microagent_session *session = NULL;

	assert_ok(microagent_session_open(rig->agent, name, &session, &err));
	return session;
}

static int64_t recorded(const struct rig *rig, const char *name)
{
	json_auto_t *record = get_json(at(rig, "sessions/%s.bundle/session.json", name));

	return json_integer_value(json_object_get(record, "quotaBytes"));
}

static void the_quota_of_one_that_does_not_run(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	auto_session struct microagent_session *session = open_one(rig, name);
	json_auto_t *disk = NULL;

	assert_int_equal(recorded(rig, name), DISK_BYTES);
	assert_int_equal(session->quota_bytes, DISK_BYTES);
	assert_ok(microagent_session_set_quota(session, 3, &disk, &err));
	assert_int_equal(recorded(rig, name), 3 * MIB);
	assert_int_equal(session->quota_bytes, 3 * MIB);
	assert_int_equal(json_integer_value(json_object_get(disk, "quotaBytes")), 3 * MIB);
	assert_fails(microagent_session_set_quota(session, 0, NULL, &err), ERR_INVALID, "quota");
	assert_int_equal(recorded(rig, name), 3 * MIB);
	/* The other members of the record stay. */
	json_auto_t *record = get_json(at(rig, "sessions/%s.bundle/session.json", name));
	assert_string_equal(json_text(record, "base", ""), "web-v1");
}

/* An empty layer has what the layer itself takes, and this one has four MiB. */
static void no_quota_below_what_has_grown(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	auto_session struct microagent_session *session = open_one(rig, name);
	autofree char *bytes = calloc(1, 4 * MIB);
	autoclose int fd = -1;

	if (!is_there(at(rig, "sessions/%s.bundle/rootfs.qcow2", name))) {
		print_message("reflinks here\n");
		skip();
	}
	memset(bytes, 'x', 4 * MIB);
	fd = open(at(rig, "sessions/%s.bundle/rootfs.qcow2", name), O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, bytes, 4 * MIB), 4 * MIB);
	assert_fails(microagent_session_set_quota(session, 3, NULL, &err), ERR_CONFLICT,
		     "has already grown to 5 MiB"); /* rounded up: the layer's own is some of it */
	assert_int_equal(recorded(rig, name), DISK_BYTES);
	assert_ok(microagent_session_set_quota(session, 5, NULL, &err));
}

static void a_quota_is_on_the_record(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	auto_session struct microagent_session *session = open_one(rig, name);
	autobuf struct buf log = BUF_INIT(1 << 20);

	assert_ok(microagent_session_set_quota(session, 3, NULL, &err));
	assert_ok(path_read_file_at(AT_FDCWD, at(rig, "sessions/%s.bundle/audit.log", name), &log,
				    &err));
	assert_non_null(strstr(buf_string(&log), "session.quota-set"));
	assert_non_null(strstr(buf_string(&log), "\"before\":65536"));
}

/* --- what is recorded ------------------------------------------------------------------------ */

static void what_a_record_must_have(void **state)
{
	static const char *const needed[] = {"name", "base", "clone", "source", "createdAt"};
	struct rig *rig = *state;
	const char *name = clone_one(rig), *path = at(rig, "sessions/%s.bundle/session.json", name);
	json_auto_t *good = get_json(path);
	struct microagent_session *session = NULL;
	char file[512];

	snprintf(file, sizeof(file), "%s", path);
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		json_t *bad = json_copy(good);

		json_object_del(bad, needed[i]);
		put_json(file, bad);
		assert_fails(microagent_session_open(rig->agent, name, &session, &err), ERR_IO,
			     file);
	}
	for (int bytes = 0; bytes < 2; bytes++) {
		json_t *bad = json_copy(good);

		json_object_set_new(bad, "quotaBytes", json_integer(bytes));
		put_json(file, bad);
		assert_int_equal(microagent_session_open(rig->agent, name, &session, NULL),
				 bytes ? 0 : -1);
	}
	microagent_session_close(session);
	assert_int_equal(unlink(file), 0);
	assert_fails(microagent_session_open(rig->agent, name, &session, &err), ERR_CONFLICT,
		     "not a session of microagent");
}

/* By a version that knew no quotas. */
static void a_record_without_a_quota(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);
	json_t *record = get_json(at(rig, "sessions/%s.bundle/session.json", name));
	struct microagent_session *session;

	json_object_del(record, "quotaBytes");
	put_json(at(rig, "sessions/%s.bundle/session.json", name), record);
	session = open_one(rig, name);
	assert_int_equal(session->quota_bytes, 0);
	microagent_session_close(session);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_quota_of_a_new_session),
		cmocka_unit_test(what_no_quota_is),
		base_test(the_quota_of_one_that_does_not_run),
		base_test(no_quota_below_what_has_grown),
		base_test(a_quota_is_on_the_record),
		base_test(what_a_record_must_have),
		base_test(a_record_without_a_quota),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session quotas", tests, NULL, NULL);
}
