/* SPDX-License-Identifier: MIT */
#include "supervisor/handover/exiting.h"

#include <libproc.h>

/* Returns true if the process is exiting or has exited. libproc(3) has a flag for an exiting
 * process. libproc(3) reports nothing about a zombie, which counts as exited. */
bool process_is_exiting(pid_t pid)
{
	struct proc_bsdinfo info;
	int n = proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, &info, sizeof(info));

	return n < (int)sizeof(info) || info.pbi_flags & PROC_FLAG_INEXIT;
}
