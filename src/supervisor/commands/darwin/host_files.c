/* SPDX-License-Identifier: MIT */
#include "supervisor/commands/host_files.h"

const char *host_files(struct error *why)
{
	error_set(why, ERR_UNSUPPORTED,
		  "macOS has no way for a supervisor to give up access to files");
	return "open";
}
