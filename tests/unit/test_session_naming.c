/* SPDX-License-Identifier: MIT */
/* Tests names of sessions and of bases, of their directories, and of the marks of their ends. */
#include "session_fixture.h"

#define NAME "session-2026-05-10T14-22-00Z-a7f3"

static void a_new_name_is_one(void **state)
{
	char name[SESSION_NAME_ROOM], again[SESSION_NAME_ROOM], parsed[SESSION_NAME_ROOM];
	int same = 0;

	(void)state;
	assert_ok(session_name_new(name, &err));
	assert_ok(session_name_parse(name, parsed, &err));
	assert_string_equal(parsed, name);
	assert_int_equal(strlen(name), strlen(NAME));
	for (int i = 0; i < 8; i++) {
		assert_ok(session_name_new(again, &err));
		same += strcmp(again, name) == 0;
	}
	assert_true(same < 8);
}

static void a_new_name_has_the_time(void **state)
{
	char name[SESSION_NAME_ROOM], now[SESSION_NAME_ROOM];
	time_t before = time(NULL);
	bool found = false;

	(void)state;
	assert_ok(session_name_new(name, &err));
	for (time_t t = before; !found && t <= time(NULL); t++) {
		strftime(now, sizeof(now), "session-%Y-%m-%dT%H-%M-%SZ-", gmtime(&t));
		found = strncmp(name, now, strlen(now)) == 0;
	}
	assert_true(found);
}

static void a_session_by_its_name_and_its_directory(void **state)
{
	char name[SESSION_NAME_ROOM] = "before";

	(void)state;
	assert_ok(session_name_parse(NAME, name, &err));
	assert_string_equal(name, NAME);
	assert_ok(session_name_parse(NAME ".bundle", name, &err));
	assert_string_equal(name, NAME);
	assert_int_equal(microagent_session_check_name(NAME, NULL), 0);
	assert_int_equal(microagent_session_check_name("web", NULL), -1);
}

static void what_no_session_is_called(void **state)
{
	static const char *const words[] = {
		"",
		".bundle",
		"session",
		"session-2026-05-10T14-22-00Z-a7f",
		"session-2026-05-10T14-22-00Z-a7f33",
		"session-2026-05-10T14-22-00Z-A7F3",
		"session-2026-05-10T14-22-00Z-g7f3",
		"session-2026-05-1aT14-22-00Z-a7f3",
		"session-2026-05-10 14-22-00Z-a7f3",
		"Session-2026-05-10T14-22-00Z-a7f3",
		"../sion-2026-05-10T14-22-00Z-a7f3",
		NAME "/",
		NAME ".bundle.bundle",
		NAME ".bundl",
	};
	char name[SESSION_NAME_ROOM] = "before";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		assert_fails(session_name_parse(words[i], name, &err), ERR_INVALID, words[i]);
		assert_string_equal(name, "before");
	}
}

static void what_stands_in_front_of_the_suffix(void **state)
{
	(void)state;
	assert_int_equal(kind_name_length("web.bundle"), 3);
	assert_int_equal(kind_name_length("web.bundle.bundle"), 10);
	assert_int_equal(kind_name_length("web"), 3);
	assert_int_equal(kind_name_length(".bundle"), 7); /* a name has a byte at least */
	assert_int_equal(kind_name_length(""), 0);
}

static void the_directory_of_a_session(void **state)
{
	char name[SESSION_NAME_ROOM] = "before";

	(void)state;
	assert_true(session_name_of_id(NAME ".bundle", name));
	assert_string_equal(name, NAME);
	strcpy(name, "before");
	assert_false(session_name_of_id(NAME, name));
	assert_false(session_name_of_id("web-v1.bundle", name));
	assert_false(session_name_of_id(".bundle", name));
	assert_string_equal(name, "before");
}

static void the_mark_of_an_end(void **state)
{
	char mark[SESSION_MARK_ROOM], id[SESSION_ID_ROOM] = "before";

	(void)state;
	session_ending_mark(NAME, mark);
	assert_string_equal(mark, NAME ".bundle.end");
	assert_true(session_ending_id(mark, id));
	assert_string_equal(id, NAME ".bundle");
	strcpy(id, "before");
	assert_false(session_ending_id(".end", id));
	assert_false(session_ending_id("end", id));
	assert_false(session_ending_id(NAME ".bundle", id));
	assert_false(session_ending_id(NAME ".bundle.end.", id));
	assert_string_equal(id, "before");
}

/* The longest name is one byte shorter than the room. */
static void a_mark_that_is_too_long(void **state)
{
	char id[SESSION_ID_ROOM], mark[SESSION_ID_ROOM + 8];

	(void)state;
	memset(mark, 'a', sizeof(mark));
	strcpy(mark + SESSION_ID_ROOM, ".end");
	assert_false(session_ending_id(mark, id));
	strcpy(mark + SESSION_ID_ROOM - 1, ".end");
	assert_true(session_ending_id(mark, id));
	assert_int_equal(strlen(id), SESSION_ID_ROOM - 1);
}

static void a_base_with_and_without_its_version(void **state)
{
	struct base_name name;

	(void)state;
	assert_ok(base_name_parse("web", &name, &err));
	assert_string_equal(name.name, "web");
	assert_int_equal(name.version, 0);
	assert_string_equal(name.full, "");
	assert_ok(base_name_parse("web-v12", &name, &err));
	assert_string_equal(name.name, "web");
	assert_int_equal(name.version, 12);
	assert_string_equal(name.full, "web-v12");
	assert_ok(base_name_parse("web-v3.bundle", &name, &err));
	assert_string_equal(name.full, "web-v3");
	assert_ok(base_name_parse("a-v1-v2", &name, &err));
	assert_string_equal(name.name, "a-v1");
	assert_int_equal(name.version, 2);
}

/* A part that only looks like a version belongs to the name. */
static void what_is_no_version(void **state)
{
	static const char *const words[] = {"web-v03", "web-v", "web-v1234567", "web3",
					    "web-3",   "webv3", "web-vx1",	"v3"};
	struct base_name name;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		assert_ok(base_name_parse(words[i], &name, &err));
		assert_string_equal(name.name, words[i]);
		assert_int_equal(name.version, 0);
	}
	assert_ok(base_name_parse("web-v123456", &name, &err));
	assert_int_equal(name.version, 123456);
}

static void what_no_base_is_called(void **state)
{
	static const char *const words[] = {
		"",	   "-v3", "-web", "a/b",
		".bundle", "a b", "..",	  "abcdefghijklmnopqrstuvwxyz0123456-v1"};
	struct base_name name = {.version = 7};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_fails(base_name_parse(words[i], &name, &err), ERR_INVALID, words[i]);
	assert_int_equal(name.version, 7);
	assert_int_equal(microagent_base_check_name("web", NULL), 0);
	assert_int_equal(microagent_base_check_name("-web", NULL), -1);
	/* 32 is the most, without the version. */
	assert_ok(base_name_parse("abcdefghijklmnopqrstuvwxyz012345-v1", &name, &err));
	assert_string_equal(name.full, "abcdefghijklmnopqrstuvwxyz012345-v1");
}

static void the_directory_of_a_base(void **state)
{
	struct base_name name = {.version = 7};

	(void)state;
	assert_true(base_name_of_bundle("web-v3.bundle", &name));
	assert_string_equal(name.full, "web-v3");
	assert_false(base_name_of_bundle("web-v3", &name));
	assert_false(base_name_of_bundle("web.bundle", &name));
	assert_false(base_name_of_bundle(".making-web-v3.bundle", &name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_name_is_one),
		cmocka_unit_test(a_new_name_has_the_time),
		cmocka_unit_test(a_session_by_its_name_and_its_directory),
		cmocka_unit_test(what_no_session_is_called),
		cmocka_unit_test(what_stands_in_front_of_the_suffix),
		cmocka_unit_test(the_directory_of_a_session),
		cmocka_unit_test(the_mark_of_an_end),
		cmocka_unit_test(a_mark_that_is_too_long),
		cmocka_unit_test(a_base_with_and_without_its_version),
		cmocka_unit_test(what_is_no_version),
		cmocka_unit_test(what_no_base_is_called),
		cmocka_unit_test(the_directory_of_a_base),
	};

	return cmocka_run_group_tests_name("session naming", tests, NULL, NULL);
}
