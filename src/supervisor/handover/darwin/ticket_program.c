/* SPDX-License-Identifier: MIT */
#include "base/platform/process.h"
#include "supervisor/handover/ticket.h"

/* By its name: a new version that took it meanwhile is what runs then. */
int ticket_program(char out[PATH_MAX])
{
	return process_own_program(out);
}
