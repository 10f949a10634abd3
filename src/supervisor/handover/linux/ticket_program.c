/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "supervisor/handover/ticket.h"

/* Stores a path that leads to the file of this program, even if a new version was installed under
 * its name. */
int ticket_program(char out[PATH_MAX])
{
	static const char self[] = "/proc/self/exe";

	memcpy(out, self, sizeof(self));
	return 0;
}
