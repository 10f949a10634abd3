/* SPDX-License-Identifier: MIT */
#include "base/platform/process.h"
#include "supervisor/handover/ticket.h"

/* Stores the path of this program. If a new version was installed at the path meanwhile, the new
 * version will run. */
int ticket_program(char out[PATH_MAX])
{
	return process_own_program(out);
}
