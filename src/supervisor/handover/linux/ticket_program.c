/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "supervisor/handover/ticket.h"

/* The very file that runs now, also when a new version took its name. */
int ticket_program(char out[PATH_MAX])
{
	static const char self[] = "/proc/self/exe";

	memcpy(out, self, sizeof(self));
	return 0;
}
