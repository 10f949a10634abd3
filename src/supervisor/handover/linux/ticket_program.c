/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "supervisor/handover/ticket.h"

/* Stores a path of the file that this process executes. The path is valid even if a new version was
 * installed in place of that file. */
int ticket_program(char out[PATH_MAX])
{
	static const char self[] = "/proc/self/exe";

	memcpy(out, self, sizeof(self));
	return 0;
}
