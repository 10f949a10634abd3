/* SPDX-License-Identifier: MIT */
/*
 * The balloon, which changes the size of the guest's memory. Firecracker is told the amount of
 * memory that the guest must give up. On request Firecracker returns how much memory the guest has
 * given up so far.
 *
 * A guest needs time, and may be unable to give up enough memory. The balloon command is answered
 * when the guest has reached the wanted size, or when its time is over. The answer is the size of
 * the guest's memory at that moment.
 */
#include "backend/firecracker/firecracker.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"

#define LOOKS 10 /* the time between two questions to Firecracker, in units of LIMIT_API_LOOK_MS */

static void tell_balloon(struct firecracker *fc, const struct error *why)
{
	struct fc_balloon done = fc->balloon;

	loop_remove(fc->balloon.timer);
	fc->balloon = (struct fc_balloon){0};
	if (done.fn)
		done.fn(done.data, done.actual_mib, why);
}

static void ask_again_later(struct firecracker *fc);

/* Reads from an answer how many MiB the guest has given up. A malformed answer fails with ERR_IO,
 * since it is Firecracker's fault and not the caller's. */
static int read_given(const struct firecracker *fc, const json_t *body, int64_t *out,
		      struct error *err)
{
	struct error why = {0};

	if (!body)
		return error_set(
			err, ERR_IO,
			"Firecracker's API: GET /balloon/statistics: the answer has no body: this is a bug, or Firecracker was taken over");
	if (json_get_int(body, "", "actual_mib", JSON_REQUIRED, 0, fc->memory_mib, out, &why) < 0)
		return error_set(err, ERR_IO, "Firecracker's API: GET /balloon/statistics: %s",
				 why.msg);
	return 0;
}

static void on_statistics(void *data, const json_t *body, const struct error *why)
{
	struct firecracker *fc = data;
	struct error err = {0};
	int64_t given = 0;

	if (why || read_given(fc, body, &given, &err) < 0) {
		tell_balloon(fc, why ? why : &err);
		return;
	}
	fc->balloon.actual_mib = fc->memory_mib - given;
	if (fc->balloon.actual_mib == fc->balloon.wanted_mib ||
	    clock_mono_ns() >= fc->balloon.deadline_ns)
		tell_balloon(fc, NULL);
	else
		ask_again_later(fc);
}

static void ask_for_size(struct loop *loop, void *data)
{
	struct firecracker *fc = data;
	struct error err = {0};

	(void)loop;
	fc->balloon.timer = NULL;
	if (api_call(fc->api, "GET", "/balloon/statistics", NULL, on_statistics, fc, &err) < 0)
		tell_balloon(fc, &err);
}

static void ask_again_later(struct firecracker *fc)
{
	uint64_t wait = LOOKS * limit_get(LIMIT_API_LOOK_MS) * NS_PER_MS;
	struct error err = {0};

	fc->balloon.timer =
		loop_add_timer(fc->vm.loop, clock_mono_ns() + wait, ask_for_size, fc, &err);
	if (!fc->balloon.timer)
		tell_balloon(fc, &err);
}

static void on_set(void *data, const json_t *body, const struct error *why)
{
	struct firecracker *fc = data;

	(void)body;
	if (why)
		tell_balloon(fc, why);
	else
		ask_for_size(fc->vm.loop, fc);
}

int fc_balloon(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data, struct error *err)
{
	struct firecracker *fc = fc_of(vm);

	if (fc->balloon.fn)
		return error_set(
			err, ERR_CONFLICT,
			"another request is changing the machine's memory balloon: try again when that request has ended");
	if (mib > fc->memory_mib)
		return error_set(
			err, ERR_INVALID,
			"the machine was made with %lld MiB of memory, so it cannot get %lld MiB: give it at most the memory that it was made with",
			(long long)fc->memory_mib, (long long)mib);
	if (!fc->api)
		return error_set(
			err, ERR_CONFLICT,
			"Firecracker cannot take a command now: try again when the machine is running");
	fc->balloon = (struct fc_balloon){.wanted_mib = mib,
					  .actual_mib = fc->memory_mib,
					  .deadline_ns = limit_deadline(LIMIT_BALLOON_MS),
					  .fn = fn,
					  .data = data};
	if (api_call(fc->api, "PATCH", "/balloon",
		     json_pack("{s:I}", "amount_mib", (json_int_t)(fc->memory_mib - mib)), on_set,
		     fc, err) == 0)
		return 0;
	fc->balloon = (struct fc_balloon){0};
	return -1;
}
