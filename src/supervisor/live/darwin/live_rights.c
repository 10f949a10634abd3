/* SPDX-License-Identifier: MIT */
/*
 * Takes the place of linux/live_guard.c, linux/live_broker.c and linux/live_confine.c on macOS,
 * which lacks these three parts of a live supervisor's protection:
 *
 *   guard     A process of macOS cannot ask to be ended with its parent. It also cannot become the
 *             parent of orphaned processes below it. Other means end what a supervisor has started
 *             (base/platform/spawn.h). The supervisor starts no companion: the machine is in the
 *             supervisor's own process or in a service of the system, and ends with it.
 *   confine   A process can give up its rights only by a profile of the sandbox. Apple does not
 *             document the language of these profiles, and sandbox_init(3) is deprecated. So the
 *             supervisor keeps all its rights, and runtime.json says so ("files": "open").
 *   broker    Without confinement there is no broker: each module itself does the work that the
 *             broker does on Linux.
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

int live_prove_quarantine(void *data, struct error *err)
{
	(void)data, (void)err;
	return 0;
}

int live_confine(struct live *live, struct error *err)
{
	if (json_put_string(live->runtime, "files", "open", err) < 0)
		return -1;
	log_line(
		&live->log,
		"the supervisor can still open the host's files: macOS has no way to prevent this");
	live_runtime_write(live);
	return 0;
}
