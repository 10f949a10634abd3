/* SPDX-License-Identifier: MIT */
#include "supervisor/handover/exiting.h"

#include <libproc.h>

/* libproc(3) tells it of processes that are no zombies yet, and nothing of those that are. */
bool process_is_exiting(pid_t pid)
{
	struct proc_bsdinfo info;
	int n = proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, &info, sizeof(info));

	return n < (int)sizeof(info) || info.pbi_flags & PROC_FLAG_INEXIT;
}
