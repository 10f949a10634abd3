/* SPDX-License-Identifier: MIT */
#include "vsockd/stream.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maps anonymous memory, which needs no real memory until it is touched. */
static void *map_table(uint64_t bytes, struct error *err)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		error_errno(err, errno, "memory for the streams");
		return NULL;
	}
	/* Without this call one used byte could need a whole huge page of memory. A failure is not
	 * an error: a kernel without huge pages does not know MADV_NOHUGEPAGE. */
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

static uint64_t buffers_bytes(const struct stream_table *t)
{
	return (uint64_t)t->capacity * t->buffer_bytes;
}

int stream_table_init(struct stream_table *t, unsigned capacity, uint32_t buffer_bytes,
		      struct error *err)
{
	struct stream_table fresh = {.capacity = capacity,
				     .buffer_bytes = buffer_bytes,
				     .free_head = STREAM_NONE,
				     .ready = {STREAM_NONE, STREAM_NONE}};
	size_t buckets = 16;

	if (!capacity || capacity > STREAM_TABLE_MAX)
		return error_set(
			err, ERR_INVALID,
			"microagent-vsockd cannot keep a table of %u connections, because it must be 1 to %d: this is a bug, or a limit is set wrongly",
			capacity, STREAM_TABLE_MAX);
	if (!buffer_bytes || (buffer_bytes & (buffer_bytes - 1)))
		return error_set(
			err, ERR_INVALID,
			"microagent-vsockd cannot give a connection a buffer of %u bytes, because that is not a power of two: this is a bug, or a limit is set wrongly",
			buffer_bytes);
	while (buckets < capacity)
		buckets *= 2;
	fresh.bucket_mask = (unsigned)buckets - 1;
	for (unsigned i = 0; i < TIMER_COUNT; i++)
		fresh.timers[i] = (struct list){STREAM_NONE, STREAM_NONE};
	fresh.streams = map_table((uint64_t)capacity * sizeof(struct stream), err);
	fresh.buckets = map_table(buckets * sizeof(uint16_t), err);
	fresh.buffers = map_table(buffers_bytes(&fresh), err);
	if (!fresh.streams || !fresh.buckets || !fresh.buffers) {
		stream_table_free(&fresh);
		return -1;
	}
	/* Each bucket becomes STREAM_NONE. */
	memset(fresh.buckets, 0xff, buckets * sizeof(uint16_t));
	*t = fresh;
	return 0;
}

void stream_table_free(struct stream_table *t)
{
	if (t->streams)
		munmap(t->streams, t->capacity * sizeof(struct stream));
	if (t->buckets)
		munmap(t->buckets, (t->bucket_mask + 1) * sizeof(uint16_t));
	if (t->buffers)
		munmap(t->buffers, buffers_bytes(t));
	*t = (struct stream_table){0};
}

struct stream *stream_alloc(struct stream_table *t)
{
	struct stream *s;
	uint16_t generation;

	if (t->free_head != STREAM_NONE) {
		s = &t->streams[t->free_head];
		t->free_head = s->hash_next;
	} else if (t->fresh < t->capacity) {
		s = &t->streams[t->fresh++];
	} else {
		return NULL;
	}
	t->used++;
	generation = s->generation;
	*s = (struct stream){.fd = -1,
			     .state = STREAM_LINE,
			     .generation = generation,
			     .timer = TIMER_NONE,
			     .hash_next = STREAM_NONE};
	return s;
}

void stream_release(struct stream_table *t, struct stream *s)
{
	stream_unname(t, s);
	stream_unqueue(t, s);
	stream_set_timer(t, s, TIMER_NONE, 0);
	if (s->fd >= 0)
		close(s->fd);
	if (s->touched)
		madvise(stream_buffer(t, s), t->buffer_bytes, MADV_DONTNEED);
	s->fd = -1;
	s->state = STREAM_FREE;
	s->generation++;
	s->hash_next = t->free_head;
	t->free_head = stream_index(t, s);
	t->used--;
	t->clients -= s->client;
	s->client = false;
}

/* --- finding a stream by its ports --------------------------------------------------------------
 * A guest can choose ports that fall into one bucket. Then each packet of this guest costs at most
 * one walk over the table. */

static uint16_t *stream_bucket(const struct stream_table *t, uint32_t host_port,
			       uint32_t guest_port)
{
	uint32_t h = host_port * 0x9e3779b1u ^ guest_port * 0x85ebca77u;

	return &t->buckets[(h ^ h >> 15) & t->bucket_mask];
}

struct stream *stream_find(const struct stream_table *t, uint32_t host_port, uint32_t guest_port)
{
	uint16_t i = *stream_bucket(t, host_port, guest_port);

	while (i != STREAM_NONE) {
		struct stream *s = &t->streams[i];

		if (s->host_port == host_port && s->guest_port == guest_port)
			return s;
		i = s->hash_next;
	}
	return NULL;
}

void stream_name(struct stream_table *t, struct stream *s, uint32_t host_port, uint32_t guest_port)
{
	uint16_t *bucket = stream_bucket(t, host_port, guest_port);

	s->host_port = host_port;
	s->guest_port = guest_port;
	s->hash_next = *bucket;
	s->named = true;
	*bucket = stream_index(t, s);
}

void stream_unname(struct stream_table *t, struct stream *s)
{
	uint16_t *at = stream_bucket(t, s->host_port, s->guest_port);

	if (!s->named)
		return;
	while (*at != stream_index(t, s))
		at = &t->streams[*at].hash_next;
	*at = s->hash_next;
	s->hash_next = STREAM_NONE;
	s->named = false;
}

/* --- lists ----------------------------------------------------------------------------------- */

static struct link *link_of(struct stream *s, bool timing)
{
	return timing ? &s->timing : &s->ready;
}

static void links_append(struct stream_table *t, struct list *l, struct stream *s, bool timing)
{
	uint16_t i = stream_index(t, s);

	*link_of(s, timing) = (struct link){.prev = l->tail, .next = STREAM_NONE};
	if (l->tail == STREAM_NONE)
		l->head = i;
	else
		link_of(&t->streams[l->tail], timing)->next = i;
	l->tail = i;
}

static void links_remove(struct stream_table *t, struct list *l, struct stream *s, bool timing)
{
	struct link at = *link_of(s, timing);

	if (at.prev == STREAM_NONE)
		l->head = at.next;
	else
		link_of(&t->streams[at.prev], timing)->next = at.next;
	if (at.next == STREAM_NONE)
		l->tail = at.prev;
	else
		link_of(&t->streams[at.next], timing)->prev = at.prev;
}

void stream_queue(struct stream_table *t, struct stream *s)
{
	if (!s->queued)
		links_append(t, &t->ready, s, false);
	s->queued = true;
}

void stream_unqueue(struct stream_table *t, struct stream *s)
{
	if (s->queued)
		links_remove(t, &t->ready, s, false);
	s->queued = false;
}

void stream_set_timer(struct stream_table *t, struct stream *s, enum stream_timer which,
		      uint64_t deadline)
{
	if (s->timer != TIMER_NONE)
		links_remove(t, &t->timers[s->timer], s, true);
	s->timer = (uint8_t)which;
	s->deadline = deadline;
	if (which != TIMER_NONE)
		links_append(t, &t->timers[which], s, true);
}
