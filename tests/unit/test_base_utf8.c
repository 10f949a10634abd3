/* SPDX-License-Identifier: MIT */
/* Tests which characters a person sees as they are, and how a terminal gets the others. */
#include "test_base.h"

#include "base/json.h"
#include "base/print_safe.h"

#define ZWNJ "\xe2\x80\x8c"
#define ZWJ "\xe2\x80\x8d"
#define SELECTOR "\xef\xb8\x8f"
#define MAN "\xf0\x9f\x91\xa8"
#define GIRL "\xf0\x9f\x91\xa7"
#define DARK "\xf0\x9f\x8f\xbf"
#define HEART "\xe2\x9d\xa4"
#define FIRE "\xf0\x9f\x94\xa5"
#define MEEM "\xd9\x85"
#define YEH "\xdb\x8c"
#define KHAH "\xd8\xae"
#define KA "\xe0\xa4\x95"
#define VIRAMA "\xe0\xa5\x8d"
#define SSA "\xe0\xa4\xb7"

/* Prints text in parts of so many bytes, as it comes from a log. */
static char *printed_lines(const char *text, size_t part)
{
	size_t len = strlen(text), from = 0, to = 0, size;
	struct utf8_reader reader = {0};
	char *shown = NULL;
	FILE *out = open_memstream(&shown, &size);

	while (from < len) {
		to = to + part < len ? to + part : len;
		from += print_safe_lines(&reader, out, text + from, to - from, to == len);
	}
	fclose(out);
	return shown;
}

/* On a terminal text becomes wanted, whatever its parts are, and in place too. */
static void assert_shown(const char *text, const char *wanted)
{
	autofree char *changed = strdup(text);

	make_safe(changed);
	assert_string_equal(changed, wanted);
	for (size_t part = 1; part <= strlen(text); part++) {
		autofree char *shown = printed_lines(text, part);

		assert_string_equal(shown, wanted);
	}
}

static void assert_as_it_is(const char *text)
{
	assert_shown(text, text);
}

static void test_scripts_and_emoji_keep_their_joiners(void **state)
{
	(void)state;
	assert_as_it_is(MEEM YEH ZWNJ KHAH " " YEH ZWNJ);
	assert_as_it_is("API" ZWNJ MEEM);
	assert_as_it_is(KA VIRAMA ZWJ SSA " " KA VIRAMA ZWNJ SSA " " KA VIRAMA ZWJ);
	assert_as_it_is(MAN ZWJ GIRL " " MAN DARK ZWJ HEART SELECTOR ZWJ MAN "x");
	assert_as_it_is(HEART SELECTOR ZWJ FIRE);
	assert_as_it_is("1" SELECTOR "\xe2\x83\xa3 #" SELECTOR "\xe2\x83\xa3 \xc2\xa9" SELECTOR);
}

static void test_joiners_of_nothing_are_no_text(void **state)
{
	(void)state;
	assert_shown("a" ZWNJ "b" ZWJ "c", "a?b?c");
	assert_shown(ZWNJ ZWJ ZWJ ZWNJ, "????");
	assert_shown(MEEM ZWNJ ZWJ YEH, MEEM "??" YEH);
	assert_shown(MEEM ZWNJ ZWNJ ZWNJ YEH, MEEM "???" YEH);
	assert_shown(MAN ZWJ ZWJ GIRL, MAN "??" GIRL);
	assert_shown(MAN ZWNJ GIRL, MAN "?" GIRL);
	assert_shown(MAN ZWJ "a" ZWJ GIRL, MAN "?a?" GIRL);
	assert_shown("a" SELECTOR ZWJ FIRE, "a??" FIRE);
	assert_shown("1" SELECTOR "2" HEART SELECTOR SELECTOR, "1?2" HEART SELECTOR "?");
	/* A number sign of Brahmi looks like no letter, and Khmer's stacker neither. */
	assert_shown("\xf0\x91\x81\xbf" ZWNJ "\xf0\x91\x81\xbf" ZWJ,
		     "\xf0\x91\x81\xbf?\xf0\x91\x81\xbf?");
	assert_shown("\xe1\x9f\x92" ZWJ "\xe1\x9f\x92", "\xe1\x9f\x92?\xe1\x9f\x92");
	/* A joiner beside another invisible character. */
	assert_shown(MEEM ZWNJ "\xc2\xad" ZWNJ YEH, MEEM "???" YEH);
	assert_shown(MEEM ZWNJ "\xff" ZWJ YEH, MEEM ZWNJ "?" ZWJ YEH);
}

#define NO_BREAK "\xc2\xa0"
#define THIN "\xe2\x80\x89"
#define WIDE "\xe3\x80\x80"

static void test_blanks_of_several_kinds_are_no_text(void **state)
{
	(void)state;
	assert_as_it_is("10" NO_BREAK "km" THIN "/" THIN "h  x");
	assert_as_it_is(WIDE WIDE KA); /* how a paragraph begins in Chinese */
	assert_shown("a" NO_BREAK THIN "b" THIN " c " WIDE "d", "a??b? c ?d");
	assert_shown("done" THIN THIN, "done" THIN "?");
	autofree char *lines = printed_lines("done" NO_BREAK "\nx" WIDE, 3);
	assert_string_equal(lines, "done?\nx?");
	assert_shown("\xe2\xa0\x80\xe2\xa0\x81", "?\xe2\xa0\x81"); /* no dots, and one */
}

static void test_what_is_drawn_as_nothing_is_no_text(void **state)
{
	(void)state;
	assert_shown("a\xc2\xad\xcd\x8f\xd8\x9c\xe1\x85\x9f\xe1\x85\xa0"
		     "b",
		     "a?????b");
	assert_shown("\xe1\xa0\x8e\xe2\x80\x8b\xe2\x81\xa0\xe2\x81\xa4\xe2\x81\xaf\xe3\x85\xa4",
		     "??????");
	assert_shown("\xef\xb8\x80\xef\xb8\x8e\xef\xbb\xbf\xef\xbe\xa0\xef\xbf\xb9", "?????");
	assert_shown("\xf3\xa0\x80\x81\xf3\xa0\x81\x81\xf3\xa0\x84\x80\xf3\xa0\x87\xaf", "????");
}

static void test_json_for_a_terminal(void **state)
{
	autofree char *text = json_escape_text(
		strdup("{\n\"a\": \"\xf3\xa0\x81\x81" ZWNJ MEEM ZWNJ "\xc2\x9b\"\n}"), NULL);

	(void)state;
	assert_string_equal(text, "{\n\"a\": \"\\udb40\\udc41\\u200c" MEEM ZWNJ "\\u009b\"\n}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scripts_and_emoji_keep_their_joiners),
		cmocka_unit_test(test_joiners_of_nothing_are_no_text),
		cmocka_unit_test(test_blanks_of_several_kinds_are_no_text),
		cmocka_unit_test(test_what_is_drawn_as_nothing_is_no_text),
		cmocka_unit_test(test_json_for_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
