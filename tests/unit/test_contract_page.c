/* SPDX-License-Identifier: MIT */
/* Compares the table and the picture of docs/state-and-identity.md with the table that the
 * supervisors use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/state.h"

#define CELLS 10
#define CELL_ROOM 64

/* The page's words for each pair: "" if its table has no such column. */
static char page[STATE_COUNT][COMMAND_COUNT][CELL_ROOM];
static unsigned char drawn[STATE_COUNT][COMMAND_COUNT];
static size_t row_count, arrow_count;

static FILE *open_page(void)
{
	const char *cut = strstr(__FILE__, "tests/unit/");
	char path[512];
	FILE *file;

	assert_non_null(cut);
	snprintf(path, sizeof(path), "%.*sdocs/state-and-identity.md", (int)(cut - __FILE__),
		 __FILE__);
	file = fopen(path, "r");
	assert_non_null(file);
	return file;
}

static size_t split_row(char *line, char *cells[CELLS])
{
	size_t count = 0;

	for (char *cell = strtok(line, "|\n"); cell && count < CELLS; cell = strtok(NULL, "|\n")) {
		cell += strspn(cell, " ");
		cell[strcspn(cell, " ")] = '\0';
		cells[count++] = cell;
	}
	return count;
}

static void take_row(char *cells[CELLS], size_t count, const enum command commands[CELLS])
{
	enum state from = state_from_name(cells[0]);

	assert_int_not_equal(from, STATE_COUNT);
	for (size_t i = 1; i < count; i++)
		snprintf(page[from][commands[i]], CELL_ROOM, "%s", cells[i]);
	row_count++;
}

/* Reads a line of the picture, "    from --> to: word, word". The words are commands; a word in
 * parentheses is an explanation. */
static void take_arrow(const char *line)
{
	char from[32], to[32], words[128];

	if (sscanf(line, " %31s --> %31[^:]: %127[^\n]", from, to, words) != 3)
		return;
	arrow_count++;
	assert_int_not_equal(state_from_name(from), STATE_COUNT);
	assert_int_not_equal(state_from_name(to), STATE_COUNT);
	if (*words == '(')
		return;
	for (char *word = strtok(words, ", "); word; word = strtok(NULL, ", ")) {
		enum command command = command_from_name(word);

		assert_int_not_equal(command, COMMAND_COUNT);
		if (strcmp(page[state_from_name(from)][command], to) != 0)
			fail_msg("arrow %s --> %s: %s, and the table says \"%s\"", from, to, word,
				 page[state_from_name(from)][command]);
		drawn[state_from_name(from)][command] = 1;
	}
}

static int read_page(void **state)
{
	enum command commands[CELLS] = {COMMAND_COUNT};
	char line[512], *cells[CELLS];
	FILE *file = open_page();
	size_t count;

	(void)state;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "| from |", 8) == 0) {
			count = split_row(line, cells);
			for (size_t i = 1; i < count; i++)
				commands[i] = command_from_name(cells[i]);
			assert_non_null(fgets(line, sizeof(line), file));
			while (fgets(line, sizeof(line), file) && *line == '|')
				take_row(cells, split_row(line, cells), commands);
		}
	}
	rewind(file);
	while (fgets(line, sizeof(line), file))
		take_arrow(line);
	fclose(file);
	return 0;
}

static int changes_state(enum command command)
{
	return command != COMMAND_HOST && command != COMMAND_CHECK && command != COMMAND_INSPECT &&
	       command != COMMAND_CONSOLE;
}

/* run prepares first what prepare may prepare. delete needs a workspace without a live machine, in
 * any state. */
static int is_allowed(enum state from, enum command command)
{
	if (command == COMMAND_RUN && from == STATE_UNKNOWN)
		command = COMMAND_PREPARE;
	return state_allows(from, command);
}

static void the_table_is_that_of_the_code(void **state)
{
	(void)state;
	assert_int_equal(row_count, STATE_COUNT);
	for (enum state s = 0; s < STATE_COUNT; s++)
		for (enum command c = 0; c < COMMAND_COUNT; c++) {
			const char *cell = page[s][c];

			if (!changes_state(c)) {
				assert_string_equal(cell, "");
				continue;
			}
			if ((strcmp(cell, "-") != 0) != is_allowed(s, c))
				fail_msg("%s from %s: \"%s\"", command_table[c].name,
					 state_names[s], cell);
			if (c == COMMAND_DELETE && (strcmp(cell, "alive") == 0) != state_is_live(s))
				fail_msg("delete from %s: \"%s\"", state_names[s], cell);
		}
}

static void each_change_has_its_arrow(void **state)
{
	(void)state;
	assert_true(arrow_count > 20);
	for (enum state s = 0; s < STATE_COUNT; s++)
		for (enum command c = 0; c < COMMAND_COUNT; c++) {
			const char *to = page[s][c];
			int changes = state_from_name(to) != STATE_COUNT &&
				      strcmp(to, state_names[s]) != 0;

			if (changes != drawn[s][c])
				fail_msg("%s from %s to \"%s\": %s", command_table[c].name,
					 state_names[s], to,
					 changes ? "no arrow" : "an arrow too many");
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_that_of_the_code),
		cmocka_unit_test(each_change_has_its_arrow),
	};

	return cmocka_run_group_tests(tests, read_page, NULL);
}
