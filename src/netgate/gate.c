/* SPDX-License-Identifier: MIT */
#include "netgate/gate.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "netgate/packet.h"

enum { VM, PASST, SUPERVISOR, SIDES };

/* A guest that asks for more than goes through is not answered. */
static void answer_refused(struct gate *g, const uint8_t *frame, size_t len, uint64_t now)
{
	uint8_t reset[RESET_FRAME];

	if (g->passt >= 0 && reset_answer(frame, len, reset) && resets_allow(&g->resets, now))
		lane_insert(&g->in, reset, sizeof(reset));
}

/* One frame of the guest. A link that leads nowhere has still told where the guest wanted to. */
static bool judge_frame(void *data, const uint8_t *frame, size_t len)
{
	struct gate *g = data;
	struct flow_key key;
	enum verdict verdict = screen_frame(&g->screen, frame, len, &key);
	bool refused = verdict == VERDICT_REFUSE;

	if (verdict == VERDICT_DROP)
		return false;
	if (key.protocol && key.opening) {
		uint64_t now = clock_mono_ns();

		if (flows_note(&g->flows, &key, refused, now))
			tell_connection(&g->teller, &key, refused, now);
		if (refused)
			answer_refused(g, frame, len, now);
	}
	return verdict == VERDICT_PASS && g->passt >= 0;
}

void gate_init(struct gate *g, int vm, int passt, int supervisor, uint64_t bytes_per_second)
{
	/* Until the supervisor has told the host's addresses, all are taken to be its own. */
	g->screen.prefixes.own[0] = (struct prefix){0, 0};
	g->screen.prefixes.nown = 1;
	g->vm = vm;
	g->passt = passt;
	g->supervisor = supervisor;
	g->teller.fd = supervisor;
	g->teller.guest = g->screen.guest;
	g->teller.per_second = limit_get(LIMIT_NETGATE_LINES);
	g->resets.per_second = limit_get(LIMIT_NETGATE_RESETS);
	g->flows.idle_ns = limit_get(LIMIT_NETGATE_FLOW_MS) * NS_PER_MS;
	g->out.from = vm;
	g->out.to = passt;
	g->out.pass = judge_frame;
	g->out.data = g;
	g->out.longest = SCREEN_FRAME_MAX;
	g->in.from = passt;
	g->in.to = vm;
	g->in.longest = SCREEN_FRAME_MAX;
	g->out.from_packets = g->in.to_packets = packet_is(vm);
	g->out_rate.per_second = g->in_rate.per_second = bytes_per_second;
}

/* The host's prefixes. When the supervisor has gone we go with it, by the parent-death signal. */
static void hear_supervisor(struct gate *g)
{
	static uint8_t message[PREFIXES_HOST_MAX * sizeof(struct prefix_wire) + 1];
	ssize_t n = recv(g->supervisor, message, sizeof(message), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		g->supervisor = -1;
	else if (n > 0)
		prefixes_take_host(&g->screen.prefixes, message, (size_t)n);
}

/* At most a second, unless only the sides are waited for. */
static int gate_wait_ms(struct gate *g, enum lane_state out, enum lane_state in)
{
	const uint64_t second = 1000 * NS_PER_MS;
	uint64_t left =
		g->teller.unlisted ? tell_unlisted(&g->teller, clock_mono_ns()) : UINT64_MAX;
	uint64_t waits[] = {out == LANE_STARVED ? bucket_wait(&g->out_rate) : UINT64_MAX,
			    in == LANE_STARVED ? bucket_wait(&g->in_rate) : UINT64_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		if (waits[i] < left)
			left = waits[i];
	if (left == UINT64_MAX)
		return -1;
	return (int)((left < second ? left : second) / NS_PER_MS) + 1;
}

/* Where a side has gone there is no more than what it has left behind, and that goes through. */
static enum lane_state run_lane(struct lane *l, struct bucket *rate, bool gone)
{
	uint64_t credit = bucket_fill(rate, clock_mono_ns());
	enum lane_state state;

	l->credit = gone ? UINT64_MAX : credit;
	state = lane_run(l);
	if (!gone)
		bucket_take(rate, credit - l->credit);
	return state;
}

/* Whether a lane without credit has waited long enough. */
static bool is_fed(enum lane_state state, struct bucket *rate)
{
	if (state != LANE_STARVED)
		return false;
	bucket_fill(rate, clock_mono_ns());
	return bucket_wait(rate) == 0;
}

/* Each side is waited for as its lanes want; a lane that cannot write does not read, nor does one
 * without credit. */
static void set_polled(const struct gate *g, enum lane_state out, enum lane_state in,
		       struct pollfd polled[SIDES])
{
	polled[VM] = (struct pollfd){.fd = g->vm};
	polled[PASST] = (struct pollfd){.fd = g->passt};
	polled[SUPERVISOR] = (struct pollfd){.fd = g->supervisor, .events = POLLIN};
	polled[VM].events |= out == LANE_IDLE ? POLLIN : 0;
	polled[PASST].events |= out == LANE_BLOCKED ? POLLOUT : 0;
	polled[PASST].events |= in == LANE_IDLE ? POLLIN : 0;
	polled[VM].events |= in == LANE_BLOCKED ? POLLOUT : 0;
}

int gate_run(struct gate *g, struct error *err)
{
	enum lane_state out = LANE_IDLE, in = LANE_IDLE;
	struct pollfd polled[SIDES];

	while (out != LANE_ENDED && in != LANE_ENDED) {
		set_polled(g, out, in, polled);
		if (poll(polled, SIDES, gate_wait_ms(g, out, in)) < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (polled[SUPERVISOR].revents)
			hear_supervisor(g);
		bool gone = (polled[VM].revents | polled[PASST].revents) & POLLHUP;
		if (polled[VM].revents || (polled[PASST].revents & ~POLLIN) ||
		    is_fed(out, &g->out_rate))
			out = run_lane(&g->out, &g->out_rate, gone);
		if (g->passt >= 0 && (polled[PASST].revents || (polled[VM].revents & ~POLLIN) ||
				      g->in.start < g->in.ready || is_fed(in, &g->in_rate)))
			in = run_lane(&g->in, &g->in_rate, gone);
	}
	return 0;
}
