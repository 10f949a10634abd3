/* SPDX-License-Identifier: MIT */
#include "vsockd/core.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "vsockd/core_parts.h"

int core_init(struct core *core, const struct core_config *config, struct error *err)
{
	void *refusals;

	*core = (struct core){.config = *config, .next_port = CORE_PORT_FIRST};
	if (stream_table_init(&core->table, config->streams, config->stream_bytes, err) < 0)
		return -1;
	core->refusals_size = CORE_REFUSALS + config->streams;
	refusals = mmap(NULL, core->refusals_size * sizeof(struct refusal), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (refusals == MAP_FAILED) {
		error_errno(err, errno, "memory for refusals");
		core_free(core);
		return -1;
	}
	core->refusals = refusals;
	if (config->listen_fd >= 0 && poll_add(config->epfd, config->listen_fd, EPOLLIN,
					       (union poll_ref){.type = POLL_LISTEN}) < 0) {
		core_free(core);
		return error_errno(err, errno, "watch the socket for host clients");
	}
	return 0;
}

void core_free(struct core *core)
{
	for (unsigned i = 0; i < core->table.fresh; i++)
		if (core->table.streams[i].state != STREAM_FREE)
			stream_release(&core->table, &core->table.streams[i]);
	stream_table_free(&core->table);
	if (core->refusals)
		munmap(core->refusals, core->refusals_size * sizeof(struct refusal));
	core->refusals = NULL;
}

bool core_accepts(const struct core *core)
{
	return core->refusals_count < CORE_REFUSALS;
}

void core_refuse(struct core *core, const struct refusal *refusal)
{
	unsigned at = (core->refusals_at + core->refusals_count) % core->refusals_size;

	/* The ring of refusals cannot be full (see core.h). If the ring were full, a lost refusal
	 * would be better than overwritten memory. */
	if (core->refusals_count == core->refusals_size)
		return;
	core->refusals[at] = *refusal;
	core->refusals_count++;
}

void core_abort(struct core *core, struct stream *s)
{
	const struct refusal r = {.src_cid = PACKET_HOST_CID,
				  .dst_cid = core->config.guest_cid,
				  .src_port = s->host_port,
				  .dst_port = s->guest_port,
				  .type = PACKET_STREAM};

	if (s->known && s->named)
		core_refuse(core, &r);
	stream_release(&core->table, s);
}

void core_guest_ended(struct core *core, struct stream *s)
{
	if (s->state != STREAM_OPEN || s->host_gone || !stream_buffered(s)) {
		stream_release(&core->table, s);
		return;
	}
	stream_unname(&core->table, s);
	stream_unqueue(&core->table, s);
	s->state = STREAM_DRAINING;
	s->readable = false;
	/* From now on a program of the host that still writes gets an error at once, since no
	 * process reads. */
	shutdown(s->fd, SHUT_RD);
}

/* Returns true if neither the guest nor the host has more bytes for the other side. */
static bool both_ways_over(const struct stream *s)
{
	bool to_guest = s->host_eof || (s->guest_shut & SHUT_RECEIVE);
	bool to_host = s->host_gone || ((s->guest_shut & SHUT_SEND) && !stream_buffered(s));

	return to_guest && to_host;
}

static void close_host(struct core *core, struct stream *s)
{
	close(s->fd);
	s->fd = -1;
	s->state = STREAM_CLOSING;
	s->readable = false;
	s->fwd_cnt = s->rx_cnt;
	stream_set_timer(&core->table, s, TIMER_CLOSE, clock_mono_ns() + core->config.close_ns);
}

void core_settle(struct core *core, struct stream *s)
{
	if (s->state == STREAM_DRAINING) {
		if (s->host_gone || !stream_buffered(s))
			stream_release(&core->table, s);
		return;
	}
	if (s->state == STREAM_OPEN && both_ways_over(s))
		close_host(core, s);
	if (output_due(s))
		stream_queue(&core->table, s);
	else
		stream_unqueue(&core->table, s);
}

union poll_ref core_ref(const struct core *core, const struct stream *s)
{
	return (union poll_ref){.index = stream_index(&core->table, s),
				.generation = s->generation,
				.type = POLL_STREAM};
}

uint64_t core_deadline(const struct core *core)
{
	uint64_t first = core->accept_again ? core->accept_again : UINT64_MAX;

	for (unsigned i = 0; i < TIMER_COUNT; i++) {
		uint16_t head = core->table.timers[i].head;

		if (head != STREAM_NONE && core->table.streams[head].deadline < first)
			first = core->table.streams[head].deadline;
	}
	return first;
}

void core_expire(struct core *core, uint64_t now)
{
	for (unsigned i = 0; i < TIMER_COUNT; i++) {
		const struct list *l = &core->table.timers[i];

		while (l->head != STREAM_NONE && core->table.streams[l->head].deadline <= now)
			core_abort(core, &core->table.streams[l->head]);
	}
	if (core->accept_again && core->accept_again <= now) {
		core->accept_again = 0;
		poll_add(core->config.epfd, core->config.listen_fd, EPOLLIN,
			 (union poll_ref){.type = POLL_LISTEN});
	}
}

static bool awaits_answer(const struct stream *s)
{
	return s->state == STREAM_REQUESTED && s->client;
}

/* Ends all streams that have ports, and removes all refusals that wait. If but_requests is true, a
 * stream that awaits the guest's answer stays, and its REQUEST counts as not sent. Streams of host
 * clients whose CONNECT line has not come yet always stay, since the guest does not know them. */
static void forget_guest(struct core *core, bool but_requests)
{
	for (unsigned i = 0; i < core->table.fresh; i++) {
		struct stream *s = &core->table.streams[i];

		if (but_requests && awaits_answer(s)) {
			s->want = 0;
			s->known = false;
			stream_unqueue(&core->table, s);
		} else if (s->named) {
			core_guest_ended(core, s);
		}
	}
	core->refusals_count = 0;
}

void core_link(struct core *core, bool linked)
{
	if (!linked)
		forget_guest(core, false);
	for (unsigned i = 0; linked && i < core->table.fresh; i++) {
		struct stream *s = &core->table.streams[i];

		if (!awaits_answer(s))
			continue;
		s->want = WANT_REQUEST;
		core_settle(core, s);
	}
	core->linked = linked;
	core->awaits_agent = false;
}

void core_lose_agent(struct core *core)
{
	forget_guest(core, true);
	core->awaits_agent |= core->linked;
	core->linked = false;
}

void core_stop_listening(struct core *core)
{
	if (core->config.listen_fd >= 0)
		poll_remove(core->config.epfd, core->config.listen_fd);
	core->accept_again = 0;
}

bool core_draining(const struct core *core)
{
	for (unsigned i = 0; i < core->table.fresh; i++)
		if (core->table.streams[i].state == STREAM_DRAINING)
			return true;
	return false;
}
