/* SPDX-License-Identifier: MIT */
/*
 * What of a live supervisor's protection macOS has not: linux/live_guard.c, linux/live_broker.c and
 * linux/live_confine.c in one place.
 *
 *   guard     a process can ask neither for its end with its parent's nor for what has lost its
 *             parent below it. What a supervisor starts is kept from outliving it by itself
 *             (base/platform/spawn.h), and it starts no companion: the machine is in its own
 *             process or in a service of the system's, and ends with it.
 *   confine   no process can give up rights that it has but by a profile of the sandbox's, whose
 *             language is Apple's own: sandbox_init(3) is deprecated. So all are kept, and
 *             runtime.json says so ("files": "open").
 *   broker    without that there is none to be asked: each module does by its own hand what it
 *             would have asked for.
 */
#include "base/json.h"
#include "supervisor/live/live.h"

int live_guard_begin(struct live *live, struct error *err)
{
	(void)live, (void)err;
	return 0;
}

int live_broker_begin(struct live *live, struct error *err)
{
	(void)live, (void)err;
	return 0;
}

int live_cut_off(void *data, struct error *err)
{
	(void)data, (void)err;
	return 0;
}

int live_confine(struct live *live, struct error *err)
{
	if (json_put_string(live->runtime, "files", "open", err) < 0)
		return -1;
	log_line(&live->log,
		 "the supervisor is not kept from the host's files: macOS has nothing for that");
	live_runtime_write(live);
	return 0;
}
