/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "supervisor/handover/ticket.h"

/* Gives the same file that runs now, even if a new version has taken its name. */
int ticket_program(char out[PATH_MAX])
{
	static const char self[] = "/proc/self/exe";

	memcpy(out, self, sizeof(self));
	return 0;
}
