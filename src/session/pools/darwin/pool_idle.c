/* SPDX-License-Identifier: MIT */
/*
 * On macOS, a filler runs with the usual priority, because its machines would inherit a low one. A
 * child inherits the background state (PRIO_DARWIN_BG of setpriority(2)), and then no other process
 * can end this state of the child (task_policy_create() in osfmk/kern/task_policy.c of
 * https://github.com/apple-oss-distributions/xnu). So a claimed member would stay slow.
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
