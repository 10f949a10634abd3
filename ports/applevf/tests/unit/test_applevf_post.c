/* SPDX-License-Identifier: MIT */
/* Tests the messages from the framework's queue to the event loop. */
#include "test_base.h"

#include <pthread.h>

#include "applevf/post.h"
#include "base/loop.h"

struct reader {
	struct post *post;
	uint64_t ids[LETTERS * 2];
	size_t count;
	bool close_on_first;
};

static void read_letter(void *data, const struct letter *letter)
{
	struct reader *reader = data;

	reader->ids[reader->count++] = letter->id;
	if (reader->close_on_first && reader->count == 1)
		post_close(reader->post);
}

static struct post *make_post(struct loop **loop, struct reader *reader)
{
	struct error err = {0};

	*loop = loop_new(&err);
	assert_non_null(*loop);
	reader->post = post_new(*loop, read_letter, reader, &err);
	assert_non_null(reader->post);
	return reader->post;
}

static void end_post(struct loop *loop, struct post *post)
{
	post_close(post);
	post_free(post);
	loop_free(loop);
}

static bool send_one(struct post *post, enum letter_kind kind, uint64_t id)
{
	const struct letter letter = {.kind = kind, .id = id, .fd = -1};

	return post_send(post, &letter);
}

static void letters_come_in_their_order(void **state)
{
	struct reader reader = {0};
	struct loop *loop;
	struct post *post = make_post(&loop, &reader);
	struct error err = {0};

	(void)state;
	for (uint64_t i = 1; i <= 3 * LETTERS; i += 3) {
		for (uint64_t j = 0; j < 3; j++)
			assert_true(send_one(post, LETTER_PAUSED, i + j));
		reader.count = 0;
		assert_int_equal(loop_once(loop, 0, &err), 1);
		assert_int_equal(reader.count, 3);
		assert_int_equal(reader.ids[2], i + 2);
	}
	assert_int_equal(loop_once(loop, 0, &err), 0);
	end_post(loop, post);
}

static void connections_leave_room(void **state)
{
	struct reader reader = {0};
	struct loop *loop;
	struct post *post = make_post(&loop, &reader);
	size_t sent = 0;

	(void)state;
	while (send_one(post, sent % 2 ? LETTER_ACCEPTED : LETTER_CONNECTED, sent))
		sent++;
	assert_int_equal(sent, LETTERS - LETTERS_RESERVED);
	for (size_t i = 0; i < LETTERS_RESERVED; i++)
		assert_true(send_one(post, LETTER_STOPPED, 1000 + i));
	assert_false(send_one(post, LETTER_STOPPED, 0));
	end_post(loop, post);
	assert_int_equal(reader.count, LETTERS);
}

static void a_closed_box_takes_none(void **state)
{
	struct reader reader = {.close_on_first = true};
	struct loop *loop;
	struct post *post = make_post(&loop, &reader);
	struct error err = {0};

	(void)state;
	assert_true(send_one(post, LETTER_PAUSED, 1));
	assert_true(send_one(post, LETTER_PAUSED, 2));
	assert_int_equal(loop_once(loop, 0, &err), 1);
	assert_int_equal(reader.count, 2);
	assert_false(send_one(post, LETTER_PAUSED, 3));
	end_post(loop, post);
}

static void *send_many(void *data)
{
	struct post *post = data;

	for (uint64_t i = 0; i < 10000;)
		if (send_one(post, LETTER_BALLOON, i))
			i++;
		else
			sched_yield();
	return NULL;
}

static void another_thread_loses_none(void **state)
{
	struct reader reader = {0};
	struct loop *loop;
	struct post *post = make_post(&loop, &reader);
	struct error err = {0};
	pthread_t thread;
	uint64_t next = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, send_many, post), 0);
	while (next < 10000) {
		reader.count = 0;
		assert_true(loop_once(loop, 10000, &err) >= 0);
		for (size_t i = 0; i < reader.count; i++)
			assert_int_equal(reader.ids[i], next++);
	}
	pthread_join(thread, NULL);
	end_post(loop, post);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_come_in_their_order),
		cmocka_unit_test(connections_leave_room),
		cmocka_unit_test(a_closed_box_takes_none),
		cmocka_unit_test(another_thread_loses_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
