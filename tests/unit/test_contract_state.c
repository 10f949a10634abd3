/* SPDX-License-Identifier: MIT */
/* Tests every state with every command, by a matrix that was written from the design and not from
 * the code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "contract/kind.h"
#include "contract/state.h"

/*                        unk pre sta run sto hal qua stp fai */
static const char *const matrix[][2] = {
	{"host", "y   y   y   y   y   y   y   y   y"},
	{"check", "y   y   y   y   y   y   y   y   y"},
	{"prepare", "y   y   -   -   -   y   -   y   y"},
	{"run", "-   y   -   -   -   y   -   y   y"},
	{"start", "-   y   -   -   -   y   -   y   y"},
	{"console", "-   -   -   y   -   -   -   -   -"},
	{"inspect", "y   y   y   y   y   y   y   y   y"},
	{"halt", "-   y   y   y   y   y   y   y   y"},
	{"quarantine", "-   y   -   y   -   y   -   y   y"},
	{"stop", "-   y   y   y   y   y   y   y   y"},
	{"kill", "-   y   y   y   y   y   y   y   y"},
	{"delete", "y   y   y   y   y   y   y   y   y"},
};
static const char *const columns[] = {"unknown", "prepared",	"starting", "running", "stopping",
				      "halted",	 "quarantined", "stopped",  "failed"};

static void every_pair(void **state)
{
	size_t rows = sizeof(matrix) / sizeof(matrix[0]);
	size_t count = sizeof(columns) / sizeof(columns[0]);

	(void)state;
	assert_int_equal(rows, COMMAND_COUNT);
	assert_int_equal(count, STATE_COUNT);
	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < count; c++) {
			enum command command = command_from_name(matrix[r][0]);
			enum state at = state_from_name(columns[c]);

			if (state_allows(at, command) != (matrix[r][1][4 * c] == 'y'))
				fail_msg("%s from %s", matrix[r][0], columns[c]);
		}
}

static void what_messages_call_it(void **state)
{
	static const char *const rows[][2] = {
		{"w", "workspace \"w\""},
		{"session-w", "workspace \"session-w\""},
		{"w.bundle", "workspace \"w.bundle\""},
		{"session-w.bundle", "session session-w"},
	};
	char name[KIND_NAME_ROOM];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		kind_name(rows[i][0], name);
		assert_string_equal(name, rows[i][1]);
	}
}

static void what_answers_of_supervisors_call_it(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(kind_error("w", ERR_CONFLICT, &err, "is %s", "paused"), -1);
	assert_string_equal(err.msg, "workspace w is paused");
	assert_int_equal(err.code, ERR_CONFLICT);
	kind_error("session-w.bundle", ERR_UNSUPPORTED, &err, "is %s", "paused");
	assert_string_equal(err.msg, "session session-w is paused");
	/* It is named once. */
	assert_int_equal(kind_prefix("session-w.bundle", &err), -1);
	assert_string_equal(err.msg, "session session-w is paused");
	error_set(&err, ERR_IO, "no room");
	kind_prefix("session-w.bundle", &err);
	assert_string_equal(err.msg, "session session-w: no room");
	assert_int_equal(kind_prefix("w", NULL), -1);
}

static void names_go_both_ways(void **state)
{
	(void)state;
	for (unsigned c = 0; c < COMMAND_COUNT; c++) {
		assert_int_equal(command_from_name(command_table[c].name), c);
		assert_non_null(command_table[c].purpose);
	}
	for (unsigned s = 0; s < STATE_COUNT; s++)
		assert_int_equal(state_from_name(state_names[s]), s);
}

static void unknown_names(void **state)
{
	(void)state;
	assert_int_equal(command_from_name("Start"), COMMAND_COUNT);
	assert_int_equal(command_from_name(""), COMMAND_COUNT);
	assert_int_equal(command_from_name(NULL), COMMAND_COUNT);
	assert_int_equal(state_from_name("paused"), STATE_COUNT);
	assert_int_equal(state_from_name(""), STATE_COUNT);
	assert_int_equal(state_from_name(NULL), STATE_COUNT);
}

static void out_of_range(void **state)
{
	(void)state;
	assert_false(state_allows(STATE_COUNT, COMMAND_INSPECT));
	assert_false(state_allows(STATE_RUNNING, COMMAND_COUNT));
	assert_false(state_allows((enum state) - 1, COMMAND_INSPECT));
}

static void inputs(void **state)
{
	static const char *const full[] = {"check", "prepare", "run", "start", "console"};
	static const char *const state_dir[] = {"inspect", "halt", "quarantine",
						"stop",	   "kill", "delete"};

	(void)state;
	assert_int_equal(command_table[COMMAND_HOST].input, INPUT_NONE);
	for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++)
		assert_int_equal(command_table[command_from_name(full[i])].input,
				 INPUT_FULL_CONFIG);
	for (size_t i = 0; i < sizeof(state_dir) / sizeof(state_dir[0]); i++)
		assert_int_equal(command_table[command_from_name(state_dir[i])].input,
				 INPUT_STATE_DIR);
}

static void states_of_the_living(void **state)
{
	static const char *const live[] = {"starting", "running", "stopping"};
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++)
		assert_true(state_is_live(state_from_name(live[i])));
	for (unsigned i = 0; i <= STATE_COUNT; i++)
		found += state_is_live((enum state)i);
	assert_int_equal(found, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair),
		cmocka_unit_test(names_go_both_ways),
		cmocka_unit_test(what_messages_call_it),
		cmocka_unit_test(what_answers_of_supervisors_call_it),
		cmocka_unit_test(unknown_names),
		cmocka_unit_test(out_of_range),
		cmocka_unit_test(inputs),
		cmocka_unit_test(states_of_the_living),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
