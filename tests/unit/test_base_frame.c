/* SPDX-License-Identifier: MIT */
#include "test_base.h"

#include "base/base64.h"
#include "base/frame.h"

static void put(struct buf *b, uint32_t length, size_t payload)
{
	uint8_t header[FRAME_HEADER];
	struct error err;

	be32_put(header, length);
	assert_ok(buf_append(b, header, sizeof(header), &err));
	for (size_t i = 0; i < payload; i++)
		assert_ok(buf_append(b, "p", 1, &err));
}

static void big_endian_numbers(void **state)
{
	uint8_t p[8];

	(void)state;
	be64_put(p, UINT64_C(0x0102030405060708));
	for (int i = 0; i < 8; i++)
		assert_int_equal(p[i], i + 1);
	assert_true(be64_get(p) == UINT64_C(0x0102030405060708));
	be32_put(p, UINT32_MAX);
	assert_int_equal(be32_get(p), UINT32_MAX);
	be64_put(p, UINT64_MAX);
	assert_true(be64_get(p) == UINT64_MAX);
}

static void lengths_at_the_boundaries(void **state)
{
	static const struct {
		uint32_t length;
		size_t max;
		size_t payload;
		int answer;
	} rows[] = {
		{0, 10, 0, -1},
		{1, 10, 0, 0},
		{1, 10, 1, 1},
		{10, 10, 9, 0},
		{10, 10, 10, 1},
		{11, 10, 11, -1},
		{UINT32_MAX, FRAME_MAX, 5, -1},
		{FRAME_MAX, FRAME_MAX, 5, 0},
		{FRAME_MAX + 1, FRAME_MAX, 5, -1},
		{0x7b226900, FRAME_MAX, 0, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		autobuf struct buf b = BUF_INIT(0);
		const uint8_t *payload = NULL;
		size_t len = 77;
		struct error err;
		put(&b, rows[i].length, rows[i].payload);
		assert_int_equal(frame_peek(&b, rows[i].max, &payload, &len, &err), rows[i].answer);
		if (rows[i].answer == 1) {
			assert_int_equal(len, rows[i].length);
			assert_ptr_equal(payload, buf_bytes(&b) + FRAME_HEADER);
		} else {
			assert_null(payload);
			assert_int_equal(len, 77);
		}
		if (rows[i].answer < 0)
			assert_code(err, ERR_INVALID);
	}
}

/* A stream of frames cut at every byte gives the same frames. */
static void arrives_byte_by_byte(void **state)
{
	static const char *const texts[] = {"a", "{\"x\":1}", "third"};
	autobuf struct buf wire = BUF_INIT(0), got = BUF_INIT(0);
	const uint8_t *payload;
	struct error err;
	size_t len, seen = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_ok(frame_append(&wire, texts[i], strlen(texts[i]), &err));
	for (size_t i = 0; i < wire.len; i++) {
		assert_ok(buf_append(&got, buf_bytes(&wire) + i, 1, &err));
		if (frame_peek(&got, 100, &payload, &len, &err) == 0)
			continue;
		assert_int_equal(len, strlen(texts[seen]));
		assert_memory_equal(payload, texts[seen], len);
		buf_consume(&got, FRAME_HEADER + len);
		seen++;
	}
	assert_int_equal(seen, 3);
	assert_int_equal(got.len, 0);
}

static void append_is_whole_or_not_at_all(void **state)
{
	autobuf struct buf b = BUF_INIT(12);
	struct error err;

	(void)state;
	assert_ok(frame_append(&b, "1234", 4, &err));
	assert_int_equal(frame_append(&b, "x", 1, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_int_equal(b.len, 8);
	assert_int_equal(frame_append(&b, "", 0, &err), -1);
	assert_int_equal(frame_append(&b, "", (size_t)FRAME_MAX + 1, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_int_equal(b.len, 8);
}

/* The longest there may be goes both ways. */
static void the_longest_frame(void **state)
{
	autobuf struct buf b = BUF_INIT(0);
	autofree uint8_t *payload = calloc(1, FRAME_MAX);
	const uint8_t *got;
	struct error err;
	size_t len;

	(void)state;
	payload[FRAME_MAX - 1] = 7;
	assert_ok(frame_append(&b, payload, FRAME_MAX, &err));
	assert_int_equal(frame_peek(&b, FRAME_MAX, &got, &len, &err), 1);
	assert_int_equal(len, FRAME_MAX);
	assert_int_equal(got[FRAME_MAX - 1], 7);
}

static void base64_vectors(void **state)
{
	static const char *const rows[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		autobuf struct buf out = BUF_INIT(0);
		autofree char *text = base64_encode(rows[i][0], strlen(rows[i][0]), &err);
		assert_string_equal(text, rows[i][1]);
		assert_ok(base64_decode(text, strlen(text), &out, &err));
		assert_string_equal(buf_string(&out), rows[i][0]);
	}
}

static void base64_round_trip(void **state)
{
	uint8_t data[300];
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 13);
	for (size_t n = 0; n <= sizeof(data); n++) {
		autobuf struct buf out = BUF_INIT(0);
		autofree char *text = base64_encode(data, n, &err);
		assert_int_equal(strlen(text), (n + 2) / 3 * 4);
		assert_ok(base64_decode(text, strlen(text), &out, &err));
		assert_int_equal(out.len, n);
		assert_memory_equal(buf_bytes(&out), data, n);
	}
}

static void base64_refuses_all_else(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
		{"=", 1},
		{"A", 1},
		{"AA", 2},
		{"AAA", 3},
		{"====", 4},
		{"A===", 4},
		{"AA=A", 4},
		{"=AAA", 4},
		{"Zh==", 4},
		{"Zm9=", 4},
		{"Zg==Zg==", 8},
		{"Zg==\n", 5},
		{" Zg=", 4},
		{"Zm9v\n\n\n\n", 8},
		{"ab-_", 4},
		{"A\0AA", 4},
		{"\xff\xff\xff\xff", 4},
		{"Zm8=Zm9v", 8},
		{"Zg=\0", 4},
	};
	autobuf struct buf out = BUF_INIT(0);
	struct error err;

	(void)state;
	assert_ok(buf_append(&out, "kept", 4, &err));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(base64_decode(rows[i].text, rows[i].len, &out, &err), -1);
		assert_code(err, ERR_INVALID);
		assert_string_equal(buf_string(&out), "kept");
	}
}

/* The limit counts decoded bytes, padding excluded. */
static void base64_minds_the_limit(void **state)
{
	autobuf struct buf out = BUF_INIT(4);
	struct error err;

	(void)state;
	assert_int_equal(base64_decode("Zm9vYmE=", 8, &out, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_int_equal(out.len, 0);
	assert_ok(base64_decode("Zm9vYg==", 8, &out, &err));
	assert_string_equal(buf_string(&out), "foob");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(big_endian_numbers),
		cmocka_unit_test(lengths_at_the_boundaries),
		cmocka_unit_test(arrives_byte_by_byte),
		cmocka_unit_test(append_is_whole_or_not_at_all),
		cmocka_unit_test(the_longest_frame),
		cmocka_unit_test(base64_vectors),
		cmocka_unit_test(base64_round_trip),
		cmocka_unit_test(base64_refuses_all_else),
		cmocka_unit_test(base64_minds_the_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
