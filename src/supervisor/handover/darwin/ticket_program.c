/* SPDX-License-Identifier: MIT */
#include "base/platform/process.h"
#include "supervisor/handover/ticket.h"

/* Stores the path of this program. If a new version of the program is installed at this path before
 * the process is started, the process runs the new version. */
int ticket_program(char out[PATH_MAX])
{
	return process_own_program(out);
}
