/* SPDX-License-Identifier: MIT */
/* Tests what the filter lets through, or answers, in a second, at times that the test chooses. */
#include "test_netgate.h"

#include "base/clock.h"
#include "netgate/bucket.h"
#include "netgate/refusal.h"

#define SECOND (1000 * NS_PER_MS)

static void what_has_an_answer(void **state)
{
	uint8_t out[REFUSAL_FRAME];
	struct frame f = tcp(PUBLIC, 80, 2);

	(void)state;
	assert_true(refusal_answer(f.bytes, f.len, out));
	assert_false(refusal_answer(f.bytes, f.len - 1, out)); /* not whole */
	put16(f.bytes + 12, 0x0806);
	assert_false(refusal_answer(f.bytes, f.len, out));
	f = tcp(PUBLIC, 80, 2);
	f.bytes[23] = 6 + 1;
	assert_false(refusal_answer(f.bytes, f.len, out));
	f = udp(PUBLIC, 80);
	assert_int_equal(refusal_answer(f.bytes, f.len, out), COMPOSE_PROHIBITED);
	f.bytes[0] |= 1; /* to many */
	assert_false(refusal_answer(f.bytes, f.len, out));
	f = udp(ADDRESS(239, 1, 1, 1), 80);
	assert_false(refusal_answer(f.bytes, f.len, out));
	f = udp(ADDRESS(255, 255, 255, 255), 80);
	assert_false(refusal_answer(f.bytes, f.len, out));
}

static void so_many_resets_a_second(void **state)
{
	struct refusals refusals = {.per_second = 2};

	(void)state;
	for (uint64_t now = 5 * SECOND; now < 7 * SECOND; now += SECOND) {
		assert_true(refusals_take(&refusals, now));
		assert_true(refusals_take(&refusals, now + SECOND - 1));
		assert_false(refusals_take(&refusals, now + SECOND - 1));
	}
}

static void a_bucket_is_filled_by_time(void **state)
{
	struct bucket none = {0}, b = {.per_second = 1 << 20}, slow = {.per_second = 1};
	uint64_t now = 5 * SECOND, through = 0;

	(void)state;
	assert_true(bucket_fill(&none, now) == UINT64_MAX);
	bucket_take(&none, 1 << 20);
	assert_int_equal(bucket_wait(&none), 0);
	/* A tenth of a second's bytes at once; unused ones are not saved. */
	assert_int_equal(bucket_fill(&b, now), (1 << 20) / 10);
	assert_int_equal(bucket_wait(&b), 0);
	bucket_take(&b, (1 << 20) / 10);
	assert_int_equal(bucket_fill(&b, now), 0);
	uint64_t wait = bucket_wait(&b);
	assert_in_range(wait, SECOND / 40, SECOND / 40 + 2000);
	bucket_fill(&b, now + wait);
	assert_int_equal(bucket_wait(&b), 0);
	assert_int_equal(bucket_fill(&b, now + 60 * SECOND), (1 << 20) / 10);
	/* To the byte, however often it is asked: those of a second and those that it held. */
	for (uint64_t at = now = 100 * SECOND; at <= now + SECOND; at += 250) {
		uint64_t n = bucket_fill(&b, at);

		bucket_take(&b, n);
		through += n;
	}
	assert_int_equal(through, (1 << 20) + (1 << 20) / 10);
	/* A bucket with a small rate still gives whole frames, and gets there. */
	assert_true(bucket_fill(&slow, now) >= 2 * 1514);
	bucket_take(&slow, bucket_fill(&slow, now));
	assert_int_equal(bucket_fill(&slow, now + SECOND / 2), 0);
	assert_int_equal(bucket_fill(&slow, now + SECOND), 1);
	assert_true(bucket_wait(&slow) > SECOND);
}

static void the_largest_rate_is_counted(void **state)
{
	struct bucket b = {.per_second = BUCKET_RATE_MAX};
	uint64_t room = bucket_fill(&b, SECOND);

	(void)state;
	assert_int_equal(room, BUCKET_RATE_MAX / 10);
	bucket_take(&b, room);
	assert_int_equal(bucket_fill(&b, SECOND + SECOND / 20), BUCKET_RATE_MAX / 20);
	assert_int_equal(bucket_fill(&b, UINT64_MAX), room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_an_answer),
		cmocka_unit_test(so_many_resets_a_second),
		cmocka_unit_test(a_bucket_is_filled_by_time),
		cmocka_unit_test(the_largest_rate_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
