/* SPDX-License-Identifier: MIT */
#include "netgate/gate.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "netgate/by_name.h"
#include "netgate/dns_query.h"
#include "netgate/packet.h"

enum { VM, PASST, SUPERVISOR, SIDES };
/* The most bytes of a message from the supervisor: its kind and the most prefixes, and one byte
 * more. A message that fills all of them is too long. */
#define MESSAGE_BYTES (1 + PREFIXES_HOST_MAX * sizeof(struct prefix_wire) + 1)

void gate_answer_refused(struct gate *g, const uint8_t *frame, size_t len)
{
	uint8_t answer[REFUSAL_FRAME];
	size_t length = g->passt >= 0 ? refusal_answer(frame, len, answer) : 0;

	if (length && refusals_take(&g->refusals, g->now))
		lane_insert(&g->in, answer, length);
}

/* Returns the offset in bytes of the end of the IPv4 packet in a sound frame. Padding may follow
 * the packet. */
static size_t end_of_ipv4(const uint8_t *frame, size_t len)
{
	return ETHERNET_HEADER + u16((struct bytes){frame, len}, ETHERNET_HEADER + 2);
}

/* Redirects a frame of a TCP connection to port 53 of the DNS address: the frame goes to the host's
 * resolver itself, because passt (at least that of 2023) forwards DNS only over UDP. In the frames
 * that come back, resend_resolvers() replaces the resolver's address by the address that the guest
 * knows. */
static bool pass_to_resolver(struct gate *g, uint8_t *frame, size_t len, const struct flow_key *key)
{
	bool is_new = false;

	if (key->opening)
		flows_note(&g->flows, key, false, g->now, &is_new);
	if (is_new)
		tell_connection(&g->teller, key, NULL, TELL_PASSED, g->now);
	compose_redirected(frame, end_of_ipv4(frame, len), g->screen.resolver);
	return g->passt >= 0;
}

static void resend_resolvers(struct gate *g, uint8_t *frame, size_t len, const struct segment *s)
{
	struct flow_key key = segment_flow(s);

	if (!g->screen.resolver || s->from != g->screen.resolver || s->from_port != DNS_PORT)
		return;
	key.address = g->screen.dns;
	if (flows_knows(&g->flows, &key, g->now))
		compose_resent(frame, end_of_ipv4(frame, len), g->screen.dns);
}

/* Judges a frame that the guest sends. Without passt no frame passes, but the supervisor is still
 * told where the guest wanted to connect. */
static bool judge_frame(void *data, uint8_t *frame, size_t len)
{
	struct gate *g = data;
	struct flow_key key;
	enum verdict verdict = screen_frame(&g->screen, frame, len, &key);
	bool refused = verdict == VERDICT_REFUSE, is_new;

	if (verdict == VERDICT_DROP)
		return false;
	if (key.ending)
		flows_end(&g->flows, &key);
	if (verdict == VERDICT_QUESTION)
		return by_name_question(g, frame, len) && g->passt >= 0;
	if (verdict == VERDICT_RESOLVER)
		return pass_to_resolver(g, frame, len, &key);
	if (verdict == VERDICT_PUBLIC)
		return by_name_frame(g, frame, len, &key) && g->passt >= 0;
	if (key.protocol && key.opening) {
		flows_note(&g->flows, &key, refused, g->now, &is_new);
		if (is_new)
			tell_connection(&g->teller, &key, NULL,
					refused ? TELL_REFUSED : TELL_PASSED, g->now);
		if (refused)
			gate_answer_refused(g, frame, len);
	}
	return verdict == VERDICT_PASS && g->passt >= 0;
}

/* Judges a frame that goes to the guest. */
static bool judge_inbound(void *data, uint8_t *frame, size_t len)
{
	struct gate *g = data;
	const struct bytes whole = {frame, len};
	struct segment s;

	if (u8(whole, FRAME_PROTOCOL) == IPPROTO_TCP && segment_read(frame, len, &s)) {
		const struct flow_key key = segment_flow(&s);

		if (s.flags & TCP_RST)
			flows_end(&g->flows, &key);
		resend_resolvers(g, frame, len, &s);
	}
	return !g->screen.by_name || by_name_inbound(g, frame, len);
}

void gate_init(struct gate *g, int vm, int passt, int supervisor, uint64_t bytes_per_second)
{
	/* Until the supervisor has sent the host's addresses, every address counts as an address of
	 * the host. */
	g->screen.prefixes.own[0] = (struct prefix){0, 0};
	g->screen.prefixes.nown = 1;
	g->vm = vm;
	g->passt = passt;
	g->supervisor = supervisor;
	g->teller.fd = supervisor;
	g->teller.guest = g->screen.guest;
	g->teller.per_second = limit_get(LIMIT_NETGATE_LINES);
	g->refusals.per_second = limit_get(LIMIT_NETGATE_REFUSALS);
	g->flows.idle_ns = limit_get(LIMIT_NETGATE_FLOW_MS) * NS_PER_MS;
	g->flows.tcp_idle_ns = limit_get(LIMIT_NETGATE_OPEN_FLOW_MS) * NS_PER_MS;
	g->egress.asked.patience_ns = limit_get(LIMIT_NETGATE_ANSWER_MS) * NS_PER_MS;
	g->egress.asked.again_ns = limit_get(LIMIT_NETGATE_ASK_AGAIN_MS) * NS_PER_MS;
	g->egress.openings.patience_ns = limit_get(LIMIT_NETGATE_OPENING_MS) * NS_PER_MS;
	g->egress.pins.seed = g->flows.seed;
	g->now = clock_mono_ns();
	g->out.from = vm;
	g->out.to = passt;
	g->out.pass = judge_frame;
	g->out.data = g;
	g->out.longest = SCREEN_FRAME_MAX;
	g->in.from = passt;
	g->in.to = vm;
	g->in.longest = SCREEN_FRAME_MAX;
	g->in.pass = judge_inbound;
	g->in.data = g;
	g->out.from_packets = g->in.to_packets = packet_is(vm);
	g->out_rate.per_second = g->in_rate.per_second = bytes_per_second;
}

/* Handles all messages that the supervisor has sent. If the supervisor has ended, only stores this
 * fact, since the kernel ends this process too (PR_SET_PDEATHSIG). */
static void hear_supervisor(struct gate *g)
{
	static uint8_t message[MESSAGE_BYTES];
	ssize_t n;

	while ((n = recv(g->supervisor, message, sizeof(message), MSG_DONTWAIT)) > 0) {
		const uint8_t kind = message[0];
		size_t len = (size_t)n;

		if (kind == MESSAGE_HOST)
			prefixes_take_host(&g->screen.prefixes, message + 1, len - 1);
		if (kind != MESSAGE_ALLOW && kind != MESSAGE_DENY)
			continue;
		/* If a message is too long, its end is cut off. The remaining text is still longer
		 * than any rule, so it is ignored. */
		message[len < MESSAGE_BYTES ? len : MESSAGE_BYTES - 1] = '\0';
		by_name_change(g, kind == MESSAGE_ALLOW, (const char *)message + 1);
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		g->supervisor = -1;
}

/* Returns the time-out for poll() in ms: -1 if only frames and messages are waited for, else at
 * most about a second. */
static int gate_wait_ms(struct gate *g, enum lane_state out, enum lane_state in)
{
	const uint64_t second = 1000 * NS_PER_MS;
	uint64_t left =
		g->teller.unlisted ? tell_unlisted(&g->teller, clock_mono_ns()) : UINT64_MAX;
	uint64_t waits[] = {out == LANE_STARVED ? bucket_wait(&g->out_rate) : UINT64_MAX,
			    in == LANE_STARVED ? bucket_wait(&g->in_rate) : UINT64_MAX,
			    g->flows.waiting ? second : UINT64_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		if (waits[i] < left)
			left = waits[i];
	if (left == UINT64_MAX)
		return -1;
	return (int)((left < second ? left : second) / NS_PER_MS) + 1;
}

/* Runs a lane. If the VMM or passt has closed its connection, the bytes that it has sent before
 * still go through, without a limit on their rate. */
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

/* Returns true if a lane has stopped for lack of credit, and there is enough new credit now. */
static bool is_fed(enum lane_state state, struct bucket *rate)
{
	if (state != LANE_STARVED)
		return false;
	bucket_fill(rate, clock_mono_ns());
	return bucket_wait(rate) == 0;
}

int gate_run(struct gate *g, struct error *err)
{
	enum lane_state out = LANE_IDLE, in = LANE_IDLE;

	while (out != LANE_ENDED && in != LANE_ENDED) {
		/* The VMM and passt are polled only for what the lanes can do now. A lane that
		 * waits to write does not read. A lane without credit does not read either. */
		struct pollfd polled[SIDES] = {
			[VM] = {.fd = g->vm},
			[PASST] = {.fd = g->passt},
			[SUPERVISOR] = {.fd = g->supervisor, .events = POLLIN}};
		polled[VM].events |= out == LANE_IDLE ? POLLIN : 0;
		polled[PASST].events |= out == LANE_BLOCKED ? POLLOUT : 0;
		polled[PASST].events |= in == LANE_IDLE ? POLLIN : 0;
		polled[VM].events |= in == LANE_BLOCKED ? POLLOUT : 0;
		if (poll(polled, SIDES, gate_wait_ms(g, out, in)) < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		g->now = clock_mono_ns();
		by_name_tell_silent(g, g->egress.openings.patience_ns);
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
	by_name_tell_silent(g, 0);
	return 0;
}
