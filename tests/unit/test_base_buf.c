/* SPDX-License-Identifier: MIT */
#include "test_base.h"

#include <malloc.h>

#include "base/buf.h"

static void limit_is_exact_and_failure_keeps_contents(void **state)
{
	autobuf struct buf b = BUF_INIT(4);
	struct error err;

	(void)state;
	assert_ok(buf_append(&b, "abc", 3, &err));
	assert_int_equal(buf_append(&b, "de", 2, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_string_equal(buf_string(&b), "abc");
	assert_ok(buf_append(&b, "d", 1, &err));
	assert_ok(buf_append(&b, "", 0, &err));
	assert_null(buf_reserve(&b, 1, &err));
	assert_int_equal(buf_printf(&b, &err, "%c", 'x'), -1);
	assert_string_equal(buf_string(&b), "abcd");
	buf_consume(&b, 1);
	assert_ok(buf_printf(&b, &err, "%d", 5));
	assert_string_equal(buf_string(&b), "bcd5");
}

static void zeroed_buffer_is_usable(void **state)
{
	autobuf struct buf b = {0};
	struct error err;

	(void)state;
	assert_string_equal(buf_string(&b), "");
	assert_non_null(buf_bytes(&b));
	buf_consume(&b, 0);
	buf_commit(&b, 0);
	buf_free(&b);
	buf_free(&b);
	assert_ok(buf_append(&b, NULL, 0, &err));
	assert_ok(buf_append(&b, "x", 1, &err));
	assert_string_equal(buf_string(&b), "x");
}

static void free_keeps_the_limit(void **state)
{
	struct buf b = BUF_INIT(2);
	struct error err;

	(void)state;
	assert_ok(buf_append(&b, "ab", 2, &err));
	buf_free(&b);
	assert_int_equal(b.len, 0);
	assert_int_equal(buf_append(&b, "abc", 3, &err), -1);
	assert_ok(buf_append(&b, "ab", 2, &err));
	buf_free(&b);
}

static void absurd_sizes_fail(void **state)
{
	autobuf struct buf b = BUF_INIT(0);
	struct error err;

	(void)state;
	assert_ok(buf_append(&b, "keep", 4, &err));
	for (int shift = 0; shift < 2; shift++) {
		assert_null(buf_reserve(&b, SIZE_MAX >> shift, &err));
		assert_code(err, ERR_IO);
	}
	assert_string_equal(buf_string(&b), "keep");
	b.limit = 10;
	assert_null(buf_reserve(&b, SIZE_MAX, &err));
	assert_code(err, ERR_INVALID);
	b.limit = 2; /* lowered below what is in it */
	assert_null(buf_reserve(&b, 0, &err));
	assert_code(err, ERR_INVALID);
}

static void printf_takes_any_length(void **state)
{
	autobuf struct buf b = BUF_INIT(0);
	autofree char *text = malloc(100001);
	struct error err;

	(void)state;
	memset(text, 'q', 100000);
	text[100000] = '\0';
	assert_ok(buf_printf(&b, &err, "<%s>", text));
	assert_int_equal(b.len, 100002);
	assert_int_equal(buf_bytes(&b)[0], '<');
	assert_int_equal(buf_string(&b)[100001], '>');
	assert_int_equal(buf_string(&b)[100002], '\0');
}

static void steal_gives_the_contents_away(void **state)
{
	struct buf b = BUF_INIT(100);
	struct error err;

	(void)state;
	assert_ok(buf_append(&b, "xxabc", 5, &err));
	buf_consume(&b, 2);
	autofree char *text = buf_steal_string(&b, &err);
	assert_string_equal(text, "abc");
	assert_null(b.data);
	assert_int_equal(b.len, 0);
	assert_int_equal(b.limit, 100);
	autofree char *empty = buf_steal_string(&b, &err);
	assert_string_equal(empty, "");
}

/* With its NUL, also when the limit leaves no room for another byte. */
static void what_is_stolen_has_room_for_its_end(void **state)
{
	struct error err;

	(void)state;
	for (size_t len = 1; len <= 200; len++) {
		struct buf b = BUF_INIT(len);

		for (size_t i = 0; i < len; i++)
			assert_ok(buf_append(&b, "s", 1, &err));
		autofree char *text = buf_steal_string(&b, &err);
		assert_non_null(text);
		assert_int_equal(strlen(text), len);
		assert_true(malloc_usable_size(text) > len);
	}
}

static void nothing_can_be_printed(void **state)
{
	autobuf struct buf b = BUF_INIT(1);
	struct error err;

	(void)state;
	assert_ok(buf_printf(&b, &err, "%s", ""));
	assert_ok(buf_printf(&b, &err, "%s", "x"));
	assert_ok(buf_printf(&b, &err, "%s", ""));
	assert_string_equal(buf_string(&b), "x");
}

static void nul_bytes_are_contents(void **state)
{
	autobuf struct buf b = BUF_INIT(0);
	struct error err;

	(void)state;
	assert_ok(buf_append(&b, "a\0b", 3, &err));
	assert_memory_equal(buf_string(&b), "a\0b", 4);
}

/* A queue fed and emptied at random must read as what was written, and stay small. */
static void queue_keeps_order(void **state)
{
	autobuf struct buf b = BUF_INIT(1000);
	uint8_t next_in = 0, next_out = 0;
	unsigned random = 12345;
	struct error err;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		random = random * 1103515245 + 12345;
		size_t n = (random >> 16) % 300;
		if ((random & 0x8000) && n <= b.limit - b.len) {
			uint8_t *room = buf_reserve(&b, n, &err);
			assert_non_null(room);
			for (size_t i = 0; i < n; i++)
				room[i] = next_in++;
			buf_commit(&b, n);
		} else if (n <= b.len) {
			for (size_t i = 0; i < n; i++)
				assert_int_equal(buf_bytes(&b)[i], next_out++);
			buf_consume(&b, n);
		}
		assert_true(b.len <= b.limit);
		assert_true(b.cap <= 2 * (b.limit + 1));
		assert_true(b.start + b.len < b.cap || !b.data);
		assert_true(b.len || !b.start);
	}
}

/* One byte in, one byte out at the limit: neither growth nor a move each time. */
static void full_queue_does_not_grow(void **state)
{
	autobuf struct buf b = BUF_INIT(64);
	struct error err;
	int moves = 0;

	(void)state;
	for (int i = 0; i < 64; i++)
		assert_ok(buf_append(&b, "x", 1, &err));
	for (int i = 0; i < 6400; i++) {
		size_t before = b.start;
		buf_consume(&b, 1);
		assert_ok(buf_append(&b, "x", 1, &err));
		moves += b.start < before;
	}
	assert_true(b.cap <= 2 * 65);
	assert_true(moves <= 6400 / 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limit_is_exact_and_failure_keeps_contents),
		cmocka_unit_test(zeroed_buffer_is_usable),
		cmocka_unit_test(free_keeps_the_limit),
		cmocka_unit_test(absurd_sizes_fail),
		cmocka_unit_test(printf_takes_any_length),
		cmocka_unit_test(steal_gives_the_contents_away),
		cmocka_unit_test(what_is_stolen_has_room_for_its_end),
		cmocka_unit_test(nothing_can_be_printed),
		cmocka_unit_test(nul_bytes_are_contents),
		cmocka_unit_test(queue_keeps_order),
		cmocka_unit_test(full_queue_does_not_grow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
