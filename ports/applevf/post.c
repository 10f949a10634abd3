/* SPDX-License-Identifier: MIT */
#include "applevf/post.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/list.h"

/* A message that waits for the event loop, in the list that is called the box. */
struct posted {
	struct list_link link;
	struct letter letter;
};

struct post {
	pthread_mutex_t lock;
	struct list box;
	size_t count; /* how many messages wait */
	bool closed;
	int ring[2]; /* a pipe; it has bytes if there may be messages */
	struct loop_watch *watch;
	letter_fn *fn;
	void *data;
};

static struct posted *take_posted(struct post *post)
{
	struct posted *first;

	pthread_mutex_lock(&post->lock);
	first = list_first(&post->box, struct posted, link);
	if (first) {
		list_remove(&first->link);
		post->count--;
	}
	pthread_mutex_unlock(&post->lock);
	return first;
}

static bool read_next(struct post *post)
{
	struct posted *next = take_posted(post);

	if (!next)
		return false;
	post->fn(post->data, &next->letter);
	free(next);
	return true;
}

/* Handles only as many messages as the box had when this call began. Otherwise a sender that never
 * stops could block the event loop. */
static void on_ring(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct post *post = data;
	char bytes[LETTERS];
	ssize_t most = read(fd, bytes, sizeof(bytes));

	(void)loop, (void)events;
	while (post->watch && most-- > 0 && read_next(post))
		;
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
	list_init(&post->box);
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
	struct posted *posted = malloc(sizeof(*posted));
	bool sent;

	if (!posted)
		return false;
	*posted = (struct posted){.letter = *letter};
	pthread_mutex_lock(&post->lock);
	sent = !post->closed && post->count < room;
	if (sent) {
		list_add(&post->box, &posted->link);
		post->count++;
	}
	pthread_mutex_unlock(&post->lock);
	if (!sent)
		free(posted);
	else /* the pipe has room for one byte per message */
		(void)!write(post->ring[1], "", 1);
	return sent;
}

void post_close(struct post *post)
{
	pthread_mutex_lock(&post->lock);
	post->closed = true;
	pthread_mutex_unlock(&post->lock);
	loop_remove(steal_ptr(&post->watch));
	while (read_next(post))
		;
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
