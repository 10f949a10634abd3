/* SPDX-License-Identifier: MIT */
/* Tests rings and guest memory, with a driver that does what it likes. */
#include "test_base.h"

#include <linux/virtio_ring.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "vsockd/rings.h"

/* Two regions that follow each other in the guest, and nowhere else. */
#define NUM 8
#define LOW 0x10000u  /* guest-physical; 64 KiB */
#define HIGH 0x20000u /* guest-physical; 64 KiB */
#define SIZE 0x10000u
#define LOW_USER UINT64_C(0x7f0000000000)
#define HIGH_USER UINT64_C(0x7e0000000000)
#define LOW_OFFSET 0x3000u
#define DESC_AT 0u
#define AVAIL_AT 0x1000u
#define USED_AT 0x2000u

struct bed {
	struct memory memory;
	struct ring ring;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	uint8_t *low; /* our own view of the low region */
	int fds[2];
	struct iovec iov[RING_MAX];
	struct ring_chain chain;
};

static int bed_setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	struct memory_region regions[2] = {{LOW, SIZE, LOW_USER, LOW_OFFSET},
					   {HIGH, SIZE, HIGH_USER, 0}};
	struct error err;

	b->ring = (struct ring)RING_INIT;
	for (int i = 0; i < 2; i++) {
		b->fds[i] = memfd_create("bed", MFD_CLOEXEC);
		assert_int_equal(ftruncate(b->fds[i], SIZE + LOW_OFFSET), 0);
	}
	assert_int_equal(memory_set(&b->memory, regions, b->fds, 2, &err), 0);
	b->low = memory_user(&b->memory, LOW_USER, SIZE);
	b->desc = memory_user(&b->memory, LOW_USER + DESC_AT, 1);
	b->avail = memory_user(&b->memory, LOW_USER + AVAIL_AT, 1);
	b->used = memory_user(&b->memory, LOW_USER + USED_AT, 1);
	assert_int_equal(ring_set_num(&b->ring, NUM, &err), 0);
	b->ring.address =
		(struct ring_address){LOW_USER + DESC_AT, LOW_USER + AVAIL_AT, LOW_USER + USED_AT};
	b->ring.addressed = b->ring.kicked = b->ring.enabled = true;
	assert_int_equal(ring_map(&b->ring, &b->memory, &err), 0);
	*state = b;
	return 0;
}

static int bed_teardown(void **state)
{
	struct bed *b = *state;

	memory_clear(&b->memory);
	close(b->fds[0]);
	close(b->fds[1]);
	free(b);
	return 0;
}

static void describe(struct bed *b, unsigned i, uint64_t addr, uint32_t len, uint16_t flags,
		     uint16_t next)
{
	b->desc[i] = (struct vring_desc){.addr = addr, .len = len, .flags = flags, .next = next};
}

static void offer(struct bed *b, uint16_t head)
{
	b->avail->ring[b->avail->idx % NUM] = head;
	b->avail->idx++;
}

static enum ring_result take(struct bed *b, enum ring_direction direction)
{
	return ring_take(&b->ring, &b->memory, direction, b->iov, RING_MAX, &b->chain);
}

static void chains_are_taken_and_given(void **state)
{
	struct bed *b = *state;

	assert_int_equal(take(b, RING_TO_HOST), RING_EMPTY);
	describe(b, 5, LOW + 0x4000, 44, VRING_DESC_F_NEXT, 2);
	describe(b, 2, LOW + 0x5000, 100, 0, 77); /* next means nothing without its flag */
	offer(b, 5);
	assert_int_equal(take(b, RING_TO_HOST), RING_CHAIN);
	assert_int_equal(b->chain.head, 5);
	assert_int_equal(b->chain.span.n, 2);
	assert_int_equal(b->chain.span.bytes, 144);
	assert_ptr_equal(b->iov[0].iov_base, b->low + 0x4000);
	assert_ptr_equal(b->iov[1].iov_base, b->low + 0x5000);
	assert_int_equal(take(b, RING_TO_HOST), RING_EMPTY);
	ring_give(&b->ring, 5, 7);
	assert_int_equal(b->used->idx, 0);
	assert_true(ring_publish(&b->ring));
	assert_int_equal(b->used->idx, 1);
	assert_int_equal(b->used->ring[0].id, 5);
	assert_int_equal(b->used->ring[0].len, 7);
	b->avail->flags = VRING_AVAIL_F_NO_INTERRUPT;
	assert_false(ring_publish(&b->ring));
}

static void taken_chains_can_be_put_back(void **state)
{
	struct bed *b = *state;

	for (uint16_t i = 0; i < 3; i++) {
		describe(b, i, LOW + 0x4000, 64, VRING_DESC_F_WRITE, 0);
		offer(b, i);
	}
	for (uint16_t i = 0; i < 3; i++)
		assert_int_equal(take(b, RING_TO_GUEST), RING_CHAIN);
	ring_give(&b->ring, 0, 1);
	ring_rewind(&b->ring, 2);
	assert_int_equal(take(b, RING_TO_GUEST), RING_CHAIN);
	assert_int_equal(b->chain.head, 1);
}

static void indices_wrap(void **state)
{
	struct bed *b = *state;
	struct error err;

	assert_int_equal(ring_set_base(&b->ring, 65530, &err), 0);
	b->avail->idx = 65530;
	describe(b, 3, LOW + 0x4000, 64, 0, 0);
	for (int i = 0; i < 20; i++) {
		offer(b, 3);
		assert_int_equal(take(b, RING_TO_HOST), RING_CHAIN);
		ring_give(&b->ring, 3, (uint32_t)i);
		ring_publish(&b->ring);
		assert_int_equal(b->used->idx, b->avail->idx);
		assert_int_equal(b->used->ring[(uint16_t)(b->avail->idx - 1) % NUM].len, i);
	}
}

/* One chain from head 0 that must be refused, and the ring must go on. */
static void expect_bad(struct bed *b, enum ring_direction direction)
{
	offer(b, 0);
	assert_int_equal(take(b, direction), RING_BAD);
	assert_int_equal(b->chain.head, 0);
	ring_give(&b->ring, 0, 0);
	assert_true(ring_works(&b->ring));
	describe(b, 7, LOW + 0x4000, 64, direction == RING_TO_GUEST ? VRING_DESC_F_WRITE : 0, 0);
	offer(b, 7);
	assert_int_equal(take(b, direction), RING_CHAIN);
	ring_give(&b->ring, 7, 0);
	ring_publish(&b->ring);
}

static void malformed_chains(void **state)
{
	struct bed *b = *state;

	describe(b, 0, LOW, 64, VRING_DESC_F_NEXT, 0); /* to itself */
	expect_bad(b, RING_TO_HOST);
	describe(b, 0, LOW, 64, VRING_DESC_F_NEXT, 1); /* round and round */
	describe(b, 1, LOW, 64, VRING_DESC_F_NEXT, 0);
	expect_bad(b, RING_TO_HOST);
	describe(b, 0, LOW, 0, VRING_DESC_F_NEXT, 0); /* and for nothing */
	expect_bad(b, RING_TO_HOST);
	describe(b, 0, LOW, 64, VRING_DESC_F_NEXT, NUM); /* out of the table */
	expect_bad(b, RING_TO_HOST);
	describe(b, 0, LOW, 64, VRING_DESC_F_NEXT, 65535);
	expect_bad(b, RING_TO_HOST);
	describe(b, 0, LOW, 64, VRING_DESC_F_INDIRECT, 0); /* was not offered */
	expect_bad(b, RING_TO_HOST);
	describe(b, 0, LOW, 64, VRING_DESC_F_WRITE, 0); /* the wrong way */
	expect_bad(b, RING_TO_HOST);
	describe(b, 0, LOW, 64, 0, 0);
	expect_bad(b, RING_TO_GUEST);
	describe(b, 0, LOW, 64, VRING_DESC_F_WRITE | VRING_DESC_F_NEXT, 1); /* half of it */
	describe(b, 1, LOW, 64, 0, 0);
	expect_bad(b, RING_TO_GUEST);
}

static void addresses_outside_memory(void **state)
{
	static const struct {
		uint64_t addr;
		uint32_t len;
	} bad[] = {
		{0, 1},
		{LOW - 1, 1},
		{LOW - 1, 2},
		{HIGH + SIZE, 1},
		{HIGH + SIZE - 1, 2},
		{HIGH, SIZE + 1},
		{LOW, 2 * SIZE + 1},
		{LOW, UINT32_MAX},
		{UINT64_MAX, 1},
		{UINT64_MAX, UINT32_MAX},
		{UINT64_MAX - 10, 11},
		{LOW + (UINT64_C(1) << 32), 1},
		{LOW_USER, 1}, /* an address of the front-end's is none of the guest's */
	};
	struct bed *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		describe(b, 0, bad[i].addr, bad[i].len, 0, 0);
		expect_bad(b, RING_TO_HOST);
	}
}

static void regions_split_a_buffer(void **state)
{
	struct bed *b = *state;

	describe(b, 0, HIGH - 100, 300, 0, 0);
	offer(b, 0);
	assert_int_equal(take(b, RING_TO_HOST), RING_CHAIN);
	assert_int_equal(b->chain.span.n, 2);
	assert_int_equal(b->chain.span.bytes, 300);
	assert_ptr_equal(b->iov[0].iov_base, b->low + SIZE - 100);
	assert_int_equal(b->iov[0].iov_len, 100);
	assert_ptr_equal(b->iov[1].iov_base, memory_user(&b->memory, HIGH_USER, 200));
	/* Room for one piece only. */
	offer(b, 0);
	assert_int_equal(ring_take(&b->ring, &b->memory, RING_TO_HOST, b->iov, 1, &b->chain),
			 RING_BAD);
}

static void the_longest_chain(void **state)
{
	struct bed *b = *state;

	for (unsigned i = 0; i < NUM; i++)
		describe(b, i, LOW + 16 * i, i == 3 ? 0 : 16, i < NUM - 1 ? VRING_DESC_F_NEXT : 0,
			 (uint16_t)(i + 1));
	offer(b, 0);
	assert_int_equal(take(b, RING_TO_HOST), RING_CHAIN);
	assert_int_equal(b->chain.span.n, NUM - 1); /* the empty one has no piece */
	assert_int_equal(b->chain.span.bytes, 16 * (NUM - 1));
}

static void impossible_indices_stop_the_ring(void **state)
{
	struct bed *b = *state;
	struct error err;

	b->avail->idx = NUM + 1; /* more chains than descriptors */
	assert_int_equal(take(b, RING_TO_HOST), RING_EMPTY);
	assert_false(ring_works(&b->ring));
	b->avail->idx = 1; /* it does not come back by itself */
	assert_int_equal(take(b, RING_TO_HOST), RING_EMPTY);
	assert_false(ring_want_kick(&b->ring, true));
	assert_int_equal(ring_map(&b->ring, &b->memory, &err), 0);
	b->avail->ring[0] = NUM; /* no such descriptor */
	assert_int_equal(take(b, RING_TO_HOST), RING_EMPTY);
	assert_false(ring_works(&b->ring));
	assert_int_equal(ring_map(&b->ring, &b->memory, &err), 0);
	b->avail->idx = UINT16_MAX; /* backwards */
	assert_int_equal(take(b, RING_TO_HOST), RING_EMPTY);
	assert_false(ring_works(&b->ring));
}

static void kicks_are_asked_for(void **state)
{
	struct bed *b = *state;

	assert_false(ring_want_kick(&b->ring, false));
	assert_int_equal(b->used->flags, VRING_USED_F_NO_NOTIFY);
	describe(b, 0, LOW, 64, 0, 0);
	offer(b, 0); /* without a kick */
	assert_true(ring_want_kick(&b->ring, true));
	assert_int_equal(b->used->flags, 0);
	assert_int_equal(take(b, RING_TO_HOST), RING_CHAIN);
	assert_false(ring_want_kick(&b->ring, true));
}

static void rings_must_lie_in_memory(void **state)
{
	static const struct ring_address wrong[] = {
		{LOW_USER - 16, LOW_USER, LOW_USER},
		{LOW_USER + SIZE - 16, LOW_USER, LOW_USER}, /* only its beginning */
		{HIGH_USER + SIZE - 64, LOW_USER, LOW_USER},
		{LOW_USER, LOW_USER + SIZE - 2, LOW_USER},
		{LOW_USER, LOW_USER, LOW_USER + SIZE - 4},
		{LOW_USER + 8, LOW_USER, LOW_USER}, /* not aligned */
		{LOW_USER, LOW_USER + 1, LOW_USER},
		{LOW_USER, LOW_USER, LOW_USER + 2},
		{0, LOW_USER, LOW_USER},
		{LOW_USER, UINT64_MAX - 1, LOW_USER},
		{LOW, LOW, LOW}, /* addresses of the guest's are none of the front-end's */
	};
	struct bed *b = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		b->ring.address = wrong[i];
		assert_int_equal(ring_map(&b->ring, &b->memory, &err), -1);
	}
}

static void sizes_of_a_ring(void **state)
{
	static const uint32_t wrong[] = {0, 3, 100, 1023, 2048, 65536, UINT32_MAX};
	struct bed *b = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(ring_set_num(&b->ring, wrong[i], &err), -1);
	assert_int_equal(b->ring.num, NUM);
	assert_int_equal(ring_set_base(&b->ring, 65536, &err), -1);
	assert_int_equal(ring_set_base(&b->ring, 65535, &err), 0);
	for (uint32_t num = 1; num <= RING_MAX; num *= 2)
		assert_int_equal(ring_set_num(&b->ring, num, &err), 0);
}

/* --- the memory table ------------------------------------------------------------------------ */

static void tables_that_are_refused(void **state)
{
	static const struct memory_region wrong[][2] = {
		{{0, 0, 0, 0}},					  /* empty */
		{{UINT64_MAX, 2, 0, 0}},			  /* wraps: in the guest, */
		{{0, 2, UINT64_MAX, 0}},			  /* in the front-end, */
		{{0, 0x1000, 0, UINT64_MAX - 0x10}},		  /* in the descriptor */
		{{0, 0x1000, 0, (uint64_t)INT64_MAX}},		  /* more than a file can have */
		{{0, SIZE + LOW_OFFSET + 1, 0, 0}},		  /* more than this one has */
		{{0, SIZE, 0, LOW_OFFSET + 1}},			  /* the same by its offset */
		{{0, UINT64_MAX, 0, 0}},			  /* everything */
		{{0, 0x2000, 0, 0}, {0x1fff, 1, 0x9000, 0}},	  /* overlap in the guest, */
		{{0, 0x2000, 0, 0}, {0x9000, 1, 0x1fff, 0}},	  /* in the front-end, */
		{{0x1000, 0x2000, 0, 0}, {0x2fff, 1, 0x9000, 0}}, /* by their last bytes, */
		{{0x1000, 0x2000, 0, 0}, {0x9000, 1, 0x1fff, 0}},
		{{0x2fff, 1, 0x9000, 0}, {0x1000, 0x2000, 0, 0}}, /* in the other order, */
		{{0x100, 1, 0, 0}, {0, 0x1000, 0x9000, 0}},	  /* one within the other, */
		{{0, 0x1000, 0, 0}, {0, 0x1000, 0, 0}},		  /* and the same twice */
	};
	static const struct memory_region highest = {UINT64_MAX - 0xfff, 0x1000, UINT64_MAX - 0xfff,
						     0};
	struct bed *b = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		unsigned n = wrong[i][1].size ? 2 : 1;

		assert_int_equal(memory_set(&b->memory, wrong[i], b->fds, n, &err), -1);
		assert_int_not_equal(err.code, ERR_NONE);
	}
	/* The old table has survived all of them. */
	assert_int_equal(b->memory.n, 2);
	assert_ptr_equal(memory_user(&b->memory, LOW_USER, SIZE), b->low);
	/* Up to the last existing address. */
	assert_int_equal(memory_set(&b->memory, &highest, b->fds, 1, &err), 0);
	assert_non_null(memory_user(&b->memory, UINT64_MAX, 1));
	assert_null(memory_user(&b->memory, UINT64_MAX, 2));
	/* There is no pointer into released memory. */
	memory_clear(&b->memory);
	assert_null(memory_user(&b->memory, UINT64_MAX, 1));
	assert_null(memory_guest(&b->memory, UINT64_MAX, 1, &(uint64_t){0}));
	assert_int_equal(msync(b->low, 0x1000, MS_ASYNC), -1);
}

static void many_regions_and_bad_descriptors(void **state)
{
	struct bed *b = *state;
	struct memory_region regions[MEMORY_REGIONS + 1];
	int fds[MEMORY_REGIONS + 1], ends[2];
	struct error err;

	for (unsigned i = 0; i <= MEMORY_REGIONS; i++) {
		regions[i] = (struct memory_region){i * UINT64_C(0x1000), 0x1000,
						    i * UINT64_C(0x1000), i * UINT64_C(0x1000)};
		fds[i] = b->fds[0];
	}
	assert_int_equal(memory_set(&b->memory, regions, fds, MEMORY_REGIONS + 1, &err), -1);
	assert_int_equal(memory_set(&b->memory, regions, fds, MEMORY_REGIONS, &err), 0);
	/* The last one cannot be mapped, so those before it are released again. */
	assert_int_equal(fd_pipe(ends, &err), 0);
	fds[7] = ends[0];
	assert_int_equal(memory_set(&b->memory, regions, fds, MEMORY_REGIONS, &err), -1);
	fds[7] = -1;
	assert_int_equal(memory_set(&b->memory, regions, fds, MEMORY_REGIONS, &err), -1);
	assert_int_equal(b->memory.n, MEMORY_REGIONS);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(memory_set(&b->memory, NULL, NULL, 0, &err), 0);
	uint64_t run;
	assert_null(memory_guest(&b->memory, 0, 1, &run));
}

static void the_edges_of_a_region(void **state)
{
	struct bed *b = *state;
	uint64_t run = 0;

	assert_ptr_equal(memory_guest(&b->memory, LOW, 1, &run), b->low);
	assert_int_equal(run, 1);
	assert_non_null(memory_guest(&b->memory, LOW + SIZE - 1, 10, &run));
	assert_int_equal(run, 1);
	assert_non_null(memory_guest(&b->memory, LOW, UINT64_MAX, &run));
	assert_int_equal(run, SIZE);
	assert_null(memory_guest(&b->memory, LOW, 0, &run));
	assert_null(memory_guest(&b->memory, LOW - 1, 1, &run));
	assert_null(memory_guest(&b->memory, HIGH + SIZE, 1, &run));
	assert_null(memory_user(&b->memory, LOW_USER + 1, SIZE));
	assert_null(memory_user(&b->memory, LOW_USER, UINT64_MAX));
	assert_null(memory_user(&b->memory, LOW_USER - 1, 1));
	assert_non_null(memory_user(&b->memory, LOW_USER + SIZE - 1, 1));
	memory_trim(&b->memory);
	b->low[5] = 5;
	memory_trim(&b->memory);
	assert_int_equal(b->low[5], 5); /* let go, not lost */
}

#define bed_test(f) cmocka_unit_test_setup_teardown(f, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		bed_test(chains_are_taken_and_given),
		bed_test(taken_chains_can_be_put_back),
		bed_test(indices_wrap),
		bed_test(malformed_chains),
		bed_test(addresses_outside_memory),
		bed_test(regions_split_a_buffer),
		bed_test(the_longest_chain),
		bed_test(impossible_indices_stop_the_ring),
		bed_test(kicks_are_asked_for),
		bed_test(rings_must_lie_in_memory),
		bed_test(sizes_of_a_ring),
		bed_test(tables_that_are_refused),
		bed_test(many_regions_and_bad_descriptors),
		bed_test(the_edges_of_a_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
