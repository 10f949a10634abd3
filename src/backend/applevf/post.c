/* SPDX-License-Identifier: MIT */
#include "backend/applevf/post.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

struct post {
	pthread_mutex_t lock;
	struct letter box[LETTERS]; /* a ring */
	size_t first, count;
	bool closed;
	int ring[2]; /* a byte in it: there are letters */
	struct loop_watch *watch;
	letter_fn *fn;
	void *data;
};

static bool take_letter(struct post *post, struct letter *out)
{
	bool there;

	pthread_mutex_lock(&post->lock);
	there = post->count > 0;
	if (there) {
		*out = post->box[post->first];
		post->first = (post->first + 1) % LETTERS;
		post->count--;
	}
	pthread_mutex_unlock(&post->lock);
	return there;
}

/* As many as there were when it rang, so that nobody who writes without end holds up the loop. */
static void on_ring(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct post *post = data;
	struct letter letter;
	char bytes[LETTERS];
	size_t most = LETTERS;

	(void)loop, (void)events;
	(void)!read(fd, bytes, sizeof(bytes));
	while (post->watch && most-- > 0 && take_letter(post, &letter))
		post->fn(post->data, &letter);
}

struct post *post_new(struct loop *loop, letter_fn *fn, void *data, struct error *err)
{
	struct post *post = calloc(1, sizeof(*post));

	if (!post) {
		error_errno(err, ENOMEM, "letters");
		return NULL;
	}
	post->fn = fn;
	post->data = data;
	post->ring[0] = post->ring[1] = -1;
	pthread_mutex_init(&post->lock, NULL);
	if (fd_pipe(post->ring, err) == 0 && fd_nonblock(post->ring[0], true, err) == 0 &&
	    fd_nonblock(post->ring[1], true, err) == 0)
		post->watch = loop_add_fd(loop, post->ring[0], LOOP_IN, on_ring, post, err);
	if (post->watch)
		return post;
	post_free(post);
	return NULL;
}

static bool is_of_connection(const struct letter *letter)
{
	return letter->kind == LETTER_CONNECTED || letter->kind == LETTER_ACCEPTED;
}

bool post_send(struct post *post, const struct letter *letter)
{
	size_t room = is_of_connection(letter) ? LETTERS - LETTERS_RESERVED : LETTERS;
	bool sent;

	pthread_mutex_lock(&post->lock);
	sent = !post->closed && post->count < room;
	if (sent)
		post->box[(post->first + post->count++) % LETTERS] = *letter;
	pthread_mutex_unlock(&post->lock);
	/* A full pipe has rung already. */
	if (sent)
		(void)!write(post->ring[1], "", 1);
	return sent;
}

void post_close(struct post *post)
{
	struct letter letter;

	pthread_mutex_lock(&post->lock);
	post->closed = true;
	pthread_mutex_unlock(&post->lock);
	loop_remove(steal_ptr(&post->watch));
	while (take_letter(post, &letter))
		post->fn(post->data, &letter);
}

void post_free(struct post *post)
{
	if (!post)
		return;
	loop_remove(post->watch);
	cleanup_close(&post->ring[0]);
	cleanup_close(&post->ring[1]);
	pthread_mutex_destroy(&post->lock);
	free(post);
}
