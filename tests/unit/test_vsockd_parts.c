/* SPDX-License-Identifier: MIT */
/* Tests the parts below the core: spans of guest memory, the table of streams, and resources that
 * are not available. */
#include "test_base.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "vsockd/daemon.h"
#include "vsockd/span.h"
#include "vsockd/stream.h"

/* --- spans ----------------------------------------------------------------------------------- */

/* "abcdefghij" in pieces of three, none, two and five bytes. */
struct pieces {
	char text[11];
	struct iovec iov[4];
	struct span span;
};

static void make_pieces(struct pieces *p)
{
	static const size_t lengths[] = {3, 0, 2, 5};
	size_t at = 0;

	memcpy(p->text, "abcdefghij", sizeof(p->text));
	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
		p->iov[i] = (struct iovec){p->text + at, lengths[i]};
		at += lengths[i];
	}
	p->span = (struct span){.iov = p->iov, .n = 4, .bytes = 10};
}

/* Returns the rest of it, by its pieces and by its count. */
static void expect_left(const struct span *span, const char *text)
{
	char got[16] = "";
	size_t at = 0;

	for (unsigned i = 0; i < span->n; i++) {
		memcpy(got + at, span->iov[i].iov_base, span->iov[i].iov_len);
		at += span->iov[i].iov_len;
	}
	got[at] = '\0';
	assert_string_equal(got, text);
	assert_int_equal(span->bytes, at);
}

static void a_span_is_skipped(void **state)
{
	struct pieces p;

	(void)state;
	for (size_t n = 0; n <= 12; n++) {
		make_pieces(&p);
		span_skip(&p.span, n);
		expect_left(&p.span, &"abcdefghij"[n < 10 ? n : 10]);
		span_skip(&p.span, 1);
		expect_left(&p.span, &"abcdefghij"[n < 9 ? n + 1 : 10]);
	}
}

static void a_span_is_limited(void **state)
{
	char expected[16];
	struct pieces p;

	(void)state;
	for (size_t n = 0; n <= 12; n++) {
		make_pieces(&p);
		span_limit(&p.span, n);
		snprintf(expected, sizeof(expected), "%.*s", (int)n, "abcdefghij");
		expect_left(&p.span, expected);
	}
}

static void a_span_is_read(void **state)
{
	struct pieces p;

	(void)state;
	for (size_t n = 0; n <= 12; n++) {
		char got[13] = "############";
		size_t done = n < 10 ? n : 10;

		make_pieces(&p);
		assert_int_equal(span_read(&p.span, got, n), done);
		assert_memory_equal(got, "abcdefghij", done);
		assert_string_equal(got + done, &"############"[done]);
		expect_left(&p.span, "abcdefghij" + done);
	}
}

static void a_span_is_written(void **state)
{
	struct pieces p;

	(void)state;
	for (size_t n = 0; n <= 12; n++) {
		char expected[32];
		size_t done = n < 10 ? n : 10;

		make_pieces(&p);
		assert_int_equal(span_write(&p.span, "0123456789xx", n), done);
		snprintf(expected, sizeof(expected), "%.*s%s", (int)done, "0123456789",
			 "abcdefghij" + done);
		assert_string_equal(p.text, expected);
		expect_left(&p.span, "abcdefghij" + done);
	}
}

/* Any part of it, into few or many pieces, after the existing ones. */
static void pieces_are_named(void **state)
{
	struct pieces p;

	(void)state;
	make_pieces(&p);
	for (size_t skip = 0; skip <= 11; skip++)
		for (size_t limit = 0; limit <= 11; limit++)
			for (unsigned max = 1; max <= 5; max++) {
				struct iovec out[6] = {{.iov_len = 77}};
				struct span named = {.iov = out + 1, .n = 0};
				char expected[16];
				unsigned n = 1;

				named.bytes = span_pieces(&p.span, skip, limit, out, max, &n);
				named.n = n - 1;
				assert_true(n <= max || n == 1);
				assert_int_equal(out[0].iov_len, 77);
				snprintf(expected, sizeof(expected), "%.*s",
					 (int)(max >= 4 ? limit : named.bytes),
					 &"abcdefghij"[skip < 10 ? skip : 10]);
				expect_left(&named, expected);
			}
	expect_left(&p.span, "abcdefghij");
}

/* --- the table of streams -------------------------------------------------------------------- */

static void sizes_of_a_table(void **state)
{
	static const struct {
		unsigned capacity;
		uint32_t bytes;
		int answer;
	} rows[] = {
		{0, 4096, -1},
		{1, 4096, 0},
		{STREAM_TABLE_MAX, 4096, 0},
		{STREAM_TABLE_MAX + 1, 4096, -1},
		{UINT32_MAX, 4096, -1},
		{16, 0, -1},
		{16, 1, 0},
		{16, 4095, -1},
		{16, 4097, -1},
		{16, UINT32_MAX, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stream_table t = {.capacity = 77};
		struct error err = {0};

		assert_int_equal(stream_table_init(&t, rows[i].capacity, rows[i].bytes, &err),
				 rows[i].answer);
		assert_int_equal(t.capacity, rows[i].answer < 0 ? 77 : rows[i].capacity);
		assert_int_equal(err.code != ERR_NONE, rows[i].answer < 0);
		if (rows[i].answer == 0)
			stream_table_free(&t);
	}
}

/* The limit stands for the end of the addresses, which depends on the architecture: 128 TiB on
 * x86-64, 256 TiB on arm64. */
static void more_than_there_are_addresses(void **state)
{
	struct stream_table t = {.capacity = 77};
	struct error err = {0};
	struct rlimit before, less;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	less = (struct rlimit){.rlim_cur = UINT64_C(1) << 46, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
	assert_int_equal(stream_table_init(&t, STREAM_TABLE_MAX, UINT32_C(1) << 31, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_int_equal(t.capacity, 77);
	assert_int_not_equal(err.code, ERR_NONE);
}

/* All of them, and again when they have been given back. */
static void a_table_of_three(void **state)
{
	struct stream_table t;
	struct stream *s[3];
	struct error err;

	(void)state;
	assert_ok(stream_table_init(&t, 3, 4096, &err));
	for (int round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 3; i++) {
			s[i] = stream_alloc(&t);
			assert_non_null(s[i]);
			assert_int_equal(s[i]->state, STREAM_LINE);
			assert_int_equal(s[i]->fd, -1);
			assert_int_equal(s[i]->generation, round);
			stream_name(&t, s[i], 1000 + i % 2, i);
		}
		assert_null(stream_alloc(&t));
		assert_int_equal(t.used, 3);
		for (unsigned i = 0; i < 3; i++)
			assert_ptr_equal(stream_find(&t, 1000 + i % 2, i), s[i]);
		assert_null(stream_find(&t, 1000, 1));
		assert_null(stream_find(&t, 1001, 0));
		stream_buffer(&t, s[1])[0] = 1;
		s[1]->touched = true;
		for (unsigned i = 0; i < 3; i++)
			stream_release(&t, s[i]);
		assert_int_equal(*stream_buffer(&t, s[1]), 0); /* given back */
		assert_null(stream_find(&t, 1000, 0));
		assert_int_equal(t.used, 0);
	}
	stream_table_free(&t);
	assert_null(t.streams);
}

/* Each from the middle, the front and the end of a list. */
static void lists_keep_their_order(void **state)
{
	static const unsigned orders[][3] = {{1, 0, 2}, {0, 1, 2}, {2, 1, 0}, {0, 2, 1}};
	struct stream_table t;
	struct stream *s[3];
	struct error err;

	(void)state;
	assert_ok(stream_table_init(&t, 3, 4096, &err));
	for (unsigned i = 0; i < 3; i++)
		s[i] = stream_alloc(&t);
	for (size_t k = 0; k < ARRAY_SIZE(orders); k++) {
		bool left[3] = {true, true, true};

		for (unsigned i = 0; i < 3; i++) {
			stream_queue(&t, s[i]);
			stream_queue(&t, s[i]); /* it stands there once */
			stream_set_timer(&t, s[i], TIMER_ANSWER, 100 + i);
		}
		for (unsigned i = 0; i < 3; i++) {
			unsigned gone = orders[k][i], first = 0, at = t.ready.head;

			left[gone] = false;
			stream_unqueue(&t, s[gone]);
			stream_unqueue(&t, s[gone]);
			stream_set_timer(&t, s[gone], TIMER_NONE, 0);
			while (first < 3 && !left[first])
				first++;
			assert_int_equal(t.ready.head, first < 3 ? first : STREAM_NONE);
			assert_int_equal(t.timers[TIMER_ANSWER].head, t.ready.head);
			for (at = t.ready.head; at != STREAM_NONE; at = s[at]->ready.next)
				assert_true(left[at]);
			if (first == 3)
				assert_int_equal(t.ready.tail, STREAM_NONE);
		}
	}
	stream_table_free(&t);
}

/* --- what cannot be had ---------------------------------------------------------------------- */

static struct core_config some_config(int listen_fd)
{
	return (struct core_config){.guest_cid = 3,
				    .streams = 2,
				    .stream_bytes = 4096,
				    .listen_fd = listen_fd,
				    .epfd = -1};
}

static void a_daemon_that_cannot_begin(void **state)
{
	static struct daemon daemon;
	struct core_config config = some_config(-1);
	struct error err = {0};
	int file = memfd_create("no socket", MFD_CLOEXEC), before = open_descriptors();

	(void)state;
	config.streams = 0;
	assert_int_equal(
		daemon_init(&daemon, &config, &(struct daemon_face){-1, file, -1, -1}, NULL, &err),
		-1);
	assert_code(err, ERR_INVALID);
	close(daemon.epfd);
	/* A file, which epoll cannot watch, as host clients' listener, and as the front-end's
	 * socket. */
	config = some_config(file);
	assert_int_equal(
		daemon_init(&daemon, &config, &(struct daemon_face){-1, -1, -1, -1}, NULL, &err),
		-1);
	assert_non_null(strstr(err.msg, "host clients"));
	close(daemon.epfd);
	config = some_config(-1);
	assert_int_equal(
		daemon_init(&daemon, &config, &(struct daemon_face){-1, file, -1, -1}, NULL, &err),
		-1);
	assert_non_null(strstr(err.msg, "front-end"));
	core_free(&daemon.core);
	close(daemon.epfd);
	config = some_config(-1);
	assert_int_equal(
		daemon_init(&daemon, &config, &(struct daemon_face){file, -1, -1, -1}, NULL, &err),
		-1);
	assert_non_null(strstr(err.msg, "front-end"));
	core_free(&daemon.core);
	close(daemon.epfd);
	assert_int_equal(open_descriptors(), before);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_is_skipped),
		cmocka_unit_test(a_span_is_limited),
		cmocka_unit_test(a_span_is_read),
		cmocka_unit_test(a_span_is_written),
		cmocka_unit_test(pieces_are_named),
		cmocka_unit_test(sizes_of_a_table),
		cmocka_unit_test(more_than_there_are_addresses),
		cmocka_unit_test(a_table_of_three),
		cmocka_unit_test(lists_keep_their_order),
		cmocka_unit_test(a_daemon_that_cannot_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
