/* SPDX-License-Identifier: MIT */
#include "guest/agent/handed.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

struct side {
	struct framed framed;
	struct side *other;
	struct handed *both;
	bool told_end; /* the end of file of the other side was passed on to this side */
};

struct handed {
	struct loop *loop;
	struct side host, process;
	void (*over)(void *data);
	void *data;
};

static void free_handed(struct loop *loop, void *data)
{
	(void)loop;
	free(data);
}

/* Ends the pair. The memory is freed in the next round of the event loop, since callers may still
 * use a side of the pair. */
static void handed_end(struct handed *h)
{
	framed_close(&h->host.framed);
	framed_close(&h->process.framed);
	if (h->over)
		h->over(h->data);
	loop_add_timer(h->loop, clock_mono_ns(), free_handed, h, NULL);
}

/* Ends the pair after one side has failed. Resets the process's connection, so that the process
 * does not take the bytes that it has got for a complete answer. Only TCP supports a reset. */
static void handed_break(struct handed *h)
{
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};

	if (framed_is_open(&h->process.framed))
		setsockopt(h->process.framed.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	handed_end(h);
}

/* Passes the end of file of the side `from` on to the other side, after all bytes of `from`. Ends
 * the pair when both ends of file have been passed on. */
static void hand_on_end(struct side *from)
{
	struct side *to = from->other;

	if (!from->framed.ended || to->framed.out.len > 0)
		return;
	if (!to->told_end)
		framed_end_sending(&to->framed);
	to->told_end = true;
	if (from->told_end)
		handed_end(from->both);
}

static void on_side_input(void *data)
{
	struct side *from = data;
	struct framed *in = &from->framed, *out = &from->other->framed;

	if (framed_send_bytes(out, buf_bytes(&in->in), in->in.len, NULL) < 0) {
		handed_break(from->both);
		return;
	}
	framed_drop(in, in->in.len);
	framed_set_reading(in, !framed_is_full(out));
	hand_on_end(from);
}

static void on_side_drained(void *data)
{
	struct side *to = data;

	framed_set_reading(&to->other->framed, true);
	hand_on_end(to->other);
}

static void on_side_lost(void *data, const char *why)
{
	struct side *side = data;

	(void)why;
	handed_break(side->both);
}

static const struct framed_owner host_owner = {
	.input = on_side_input,
	.drained = on_side_drained,
	.lost = on_side_lost,
};
/* Bytes that a process has written before its exit are still passed on to the host. */
static const struct framed_owner process_owner = {
	.input = on_side_input,
	.drained = on_side_drained,
	.lost = on_side_lost,
	.hears_out = true,
};

void handed_join(struct loop *loop, struct mux_stream *stream, int fd, void (*over)(void *data),
		 void *data)
{
	struct handed *h = calloc(1, sizeof(*h));

	if (!h ||
	    framed_open(&h->process.framed, loop, fd, 0, &process_owner, &h->process, NULL) < 0) {
		mux_carrier.close(stream);
		close(fd);
		free(h);
		if (over)
			over(data);
		return;
	}
	framed_open_carried(&h->host.framed, loop, &mux_carrier, stream, 0, &host_owner, &h->host);
	h->loop = loop;
	h->over = over;
	h->data = data;
	h->host.other = &h->process;
	h->process.other = &h->host;
	h->host.both = h->process.both = h;
}
