/* SPDX-License-Identifier: MIT */
#include "mcp/out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

/* Waits until a few bytes can be written without blocking. If the client has hung up or the server
 * must end, waits only for a short time. Returns false if nothing can be written. */
static bool can_write(const struct mcp_out *out)
{
	struct pollfd slots[] = {{.fd = out->fd, .events = POLLOUT},
				 {.fd = out->in},
				 {.fd = out->ended, .events = POLLIN}};
	int got;

	do
		got = poll(slots, ARRAY_SIZE(slots), -1);
	while (got < 0 && errno == EINTR);
	if (slots[0].revents || got < 0)
		return slots[0].revents & POLLOUT;
	/* The client has hung up, or the server must end. The client gets a last short time to
	 * read. */
	return poll(slots, 1, (int)limit_get(LIMIT_MCP_LAST_WORD_MS)) == 1 &&
	       slots[0].revents & POLLOUT;
}

void out_init(struct mcp_out *out, int fd, int in, int ended)
{
	*out = (struct mcp_out){.fd = fd, .in = in, .ended = ended};
	pthread_mutex_init(&out->lock, NULL);
	pthread_mutex_init(&out->words_lock, NULL);
}

void out_free(struct mcp_out *out)
{
	for (size_t i = 0; i < out->count; i++)
		free(out->words[i]);
	pthread_mutex_destroy(&out->lock);
	pthread_mutex_destroy(&out->words_lock);
}

/* Returns the message as a line with a newline, which the caller frees. Returns NULL if there is no
 * memory. Takes over the reference of the message. */
static char *line_of(json_t *message)
{
	autofree char *line = message ? json_line(message, NULL) : NULL;
	char *whole = NULL;

	json_decref(message);
	return line && asprintf(&whole, "%s\n", line) >= 0 ? whole : NULL;
}

/* Writes the line. If this fails, marks the output as broken. The caller holds out->lock. */
static void send_line(struct mcp_out *out, const char *line)
{
	size_t left = strlen(line);

	while (!out->broken && left > 0) {
		ssize_t n;

		if (!can_write(out)) {
			out->broken = true;
			return;
		}
		n = fd_write_some(out->fd, line, left);
		if (n < 0 && errno != EINTR && errno != EAGAIN) {
			out->broken = true;
			return;
		}
		line += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
}

static char *next_word(struct mcp_out *out)
{
	char *word = NULL;

	pthread_mutex_lock(&out->words_lock);
	if (out->count > 0) {
		word = out->words[0];
		memmove(out->words, out->words + 1, --out->count * sizeof(*out->words));
	}
	pthread_mutex_unlock(&out->words_lock);
	return word;
}

static bool has_words(struct mcp_out *out)
{
	bool has;

	pthread_mutex_lock(&out->words_lock);
	has = out->count > 0;
	pthread_mutex_unlock(&out->words_lock);
	return has;
}

/* Writes the waiting messages of out_send_now() if the lock is free. If another thread holds the
 * lock, returns at once: that thread looks for waiting messages after it has released the lock. */
static void try_words(struct mcp_out *out)
{
	bool is_read = true;

	while (is_read && has_words(out) && pthread_mutex_trylock(&out->lock) == 0) {
		struct pollfd slot = {.fd = out->fd, .events = POLLOUT};
		char *word;

		while ((is_read = poll(&slot, 1, 0) == 1) && (word = next_word(out))) {
			send_line(out, word);
			free(word);
		}
		pthread_mutex_unlock(&out->lock);
	}
}

void out_send(struct mcp_out *out, json_t *message)
{
	autofree char *line = line_of(message);
	char *word;

	if (!line)
		return;
	pthread_mutex_lock(&out->lock);
	while ((word = next_word(out))) {
		send_line(out, word);
		free(word);
	}
	send_line(out, line);
	pthread_mutex_unlock(&out->lock);
	try_words(out);
}

void out_send_now(struct mcp_out *out, json_t *message)
{
	autofree char *word = line_of(message);

	/* A longer message is not sent, since its write could block until the client reads. */
	if (!word || strlen(word) > PIPE_BUF)
		return;
	pthread_mutex_lock(&out->words_lock);
	if (out->count < OUT_WORDS)
		out->words[out->count++] = steal_ptr(&word);
	pthread_mutex_unlock(&out->words_lock);
	try_words(out);
}
