/* SPDX-License-Identifier: MIT */
#include "supervisor/handover/exiting.h"

#include <libproc.h>

/* Returns whether the process is exiting or has ended. libproc(3) knows the flag of an exiting
 * process. It reports nothing about a zombie, which also counts as ended. */
bool process_is_exiting(pid_t pid)
{
	struct proc_bsdinfo info;
	int n = proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, &info, sizeof(info));

	return n < (int)sizeof(info) || info.pbi_flags & PROC_FLAG_INEXIT;
}
