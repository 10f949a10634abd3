/* SPDX-License-Identifier: MIT */
/*
 * Keeps the guest's clock right. After the guest has been told the time, its clock runs by itself,
 * but is wrong after each jump of the host's time. The guest's clock stands still while the machine
 * is paused or saved, and while the host sleeps. The guest's clock does not follow when the host's
 * wall clock is set. An event reports each of these jumps, and then the guest is told the time
 * again. A timer also tells the guest the time, because the guest's clock drifts, and drift makes
 * no event. A paused guest reads nothing, so it is told the time only when it goes on. Otherwise
 * old times would wait for the guest, which would read them then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/platform/waitable.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"

static void push_time(struct live *live)
{
	if (!live->pause.why)
		control_stream_push_time(live->control);
}

/* --- reporting jumps ------------------------------------------------------------------------- */

static bool is_jump(int64_t ns)
{
	return llabs(ns) >= (int64_t)(limit_get(LIMIT_CLOCK_JUMP_MS) * NS_PER_MS);
}

/* Writes a jump of the guest's clock to the audit log. `why` is the reason, as one word. `ns` is
 * the length of the jump in ns; it is negative if the clock was set back. */
static void tell_jump(struct live *live, const char *why, int64_t ns)
{
	live_audit_step(
		live, "session", "session.clock-set",
		json_pack("{s:s, s:I}", "why", why, "ms", (json_int_t)(ns / (int64_t)NS_PER_MS)));
}

struct seconds {
	char text[32];
};

/* Returns a duration as a text: in whole seconds, rounded, and without a sign. */
static struct seconds in_seconds(int64_t ns)
{
	int64_t half = (int64_t)(NS_PER_S / 2);
	struct seconds out;

	snprintf(out.text, sizeof(out.text), "%lld s",
		 (long long)((llabs(ns) + half) / (int64_t)NS_PER_S));
	return out;
}

/* Reads two clocks, and returns by how much each of them is ahead of the monotonic clock: the wall
 * clock, and the clock that also runs while the host sleeps. */
static struct live_clocks read_clocks(void)
{
	int64_t mono = (int64_t)clock_mono_ns();

	return (struct live_clocks){
		.real_ns = clock_real_ns() - mono,
		.asleep_ns = (int64_t)clock_boot_ns() - mono,
	};
}

static void tell_jumps(struct live *live)
{
	const struct live_clocks before = live->time.clocks;
	struct live_clocks now = read_clocks();
	int64_t slept = now.asleep_ns - before.asleep_ns;
	int64_t set = now.real_ns - before.real_ns - slept;
	char text[128];

	live->time.clocks = now;
	if (!control_stream_is_ready(live->control))
		return;
	if (is_jump(slept)) {
		tell_jump(live, "host-slept", slept);
		snprintf(text, sizeof(text),
			 "the host slept for %s; the guest's clock was set forward",
			 in_seconds(slept).text);
		live_remark(live, text);
	}
	if (is_jump(set)) {
		tell_jump(live, "host-set", set);
		snprintf(text, sizeof(text),
			 "the host's clock was set %s %s; the guest's clock was set with it",
			 set > 0 ? "forward by" : "back by", in_seconds(set).text);
		live_remark(live, text);
	}
}

/* --- events ---------------------------------------------------------------------------------- */

static void on_clock_set(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct live *live = data;
	int set = clock_set_fd_take(fd);
	int errnum = errno;
	struct error err;

	(void)loop;
	(void)events;
	if (set == 0)
		return;
	push_time(live);
	tell_jumps(live);
	live_term_look(live);
	if (set > 0)
		return;
	error_errno(&err, errnum, "timerfd");
	log_line(&live->log, "%s", err.msg);
	loop_remove(live->time.watch);
	live->time.watch = NULL;
}

static void on_time_timer(struct loop *loop, void *data)
{
	(void)loop;
	push_time(data);
}

int live_time_begin(struct live *live, struct error *err)
{
	live->time.clocks = read_clocks();
	live->time.fd = clock_set_fd_open();
	if (live->time.fd < 0)
		return error_errno(err, errno, "timerfd");
	live->time.watch = loop_add_fd(live->loop, live->time.fd, LOOP_IN, on_clock_set, live, err);
	live->time.timer = loop_add_interval(live->loop, limit_get(LIMIT_TIME_PUSH_MS) * NS_PER_MS,
					     on_time_timer, live, err);
	return live->time.watch && live->time.timer ? 0 : -1;
}

void live_time_end(struct live *live)
{
	if (live->time.fd >= 0)
		close(live->time.fd);
	live->time.fd = -1;
}

/* --- a machine that was paused or saved ------------------------------------------------------- */

int live_time_resume(struct live *live, uint64_t from_ns, struct error *err)
{
	int64_t stood = (int64_t)(clock_boot_ns() - from_ns);

	if (live->backend->resume(live->vm, err) < 0)
		return -1;
	push_time(live);
	if (!is_jump(stood) || !control_stream_is_ready(live->control))
		return 0;
	tell_jump(live, "paused", stood);
	log_line(&live->log, "the machine stood still for %s; the guest's clock was set forward",
		 in_seconds(stood).text);
	return 0;
}

int live_resume_saved(struct live *live, uint64_t stopped_ns, struct error *err)
{
	uint64_t stood = stopped_ns ? clock_mono_ns() - stopped_ns : 0;

	if (!live->pause.why && live_time_resume(live, clock_boot_ns() - stood, err) < 0)
		return -1;
	control_stream_go_on(live->control);
	return 0;
}
