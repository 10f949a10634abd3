/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/live/last_words.h"

#define LINE "microagent-init: the machine ends in order"

static const struct {
	const char *said;
	bool order;
} rows[] = {
	{"", false},
	{"\n\r\n", false},
	{LINE, true},
	{LINE "\r\n", true},
	{"tick\r\n" LINE "\r\n\r\n", true},
	{"tick" LINE "\n", true},
	{LINE "\r\n[   12.345678] reboot: Restarting system\r\n", true},
	{LINE "\nreboot: Restarting system\nreboot: machine restart\n", true},
	{"reboot: Restarting system\r\n", false},
	{LINE " not\n", false},
	{LINE "\ntick\n", false},
	{LINE "\n[ 1.0] Kernel panic - not syncing: died\n", false},
	{"the machine ends in order\n", false},
};

static void say(struct last_words *words, const char *text, size_t piece)
{
	for (size_t at = 0, len = strlen(text); at < len; at += piece)
		last_words_add(words, (const uint8_t *)text + at,
			       len - at < piece ? len - at : piece);
}

static void what_is_an_orderly_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t piece = 1; piece < 100; piece += 7) {
			struct last_words words = {0};

			say(&words, rows[i].said, piece);
			if (last_words_tell_order(&words) != rows[i].order)
				fail_msg("row %zu, in pieces of %zu", i, piece);
		}
}

/* A guest may print as much as it likes: the newest bytes count. */
static void much_is_said_before(void **state)
{
	static char flood[3 * LAST_WORDS_BYTES];
	struct last_words words = {0};

	(void)state;
	memset(flood, 'x', sizeof(flood) - 1);
	for (size_t piece = 1; piece < sizeof(flood); piece = piece * 3 + 1) {
		say(&words, flood, piece);
		assert_int_equal(words.len, LAST_WORDS_BYTES);
		assert_false(last_words_tell_order(&words));
		say(&words, "\n" LINE "\n", piece);
		assert_true(last_words_tell_order(&words));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_an_orderly_end),
		cmocka_unit_test(much_is_said_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
