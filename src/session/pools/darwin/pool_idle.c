/* SPDX-License-Identifier: MIT */
/*
 * On macOS, fillers run with the usual priority. A child of a filler would inherit a background
 * state (PRIO_DARWIN_BG of setpriority(2)) as a state of its own, which no other process can end
 * (task_policy_create() in osfmk/kern/task_policy.c of
 * https://github.com/apple-oss-distributions/xnu). But the claimer of a member must not get an idle
 * machine.
 */
#include "session/pools/pool.h"

void pool_go_idle(bool *raise)
{
	*raise = false;
}

void pool_raise(const struct workspace *ws)
{
	(void)ws;
}
