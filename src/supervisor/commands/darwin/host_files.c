/* SPDX-License-Identifier: MIT */
#include "supervisor/commands/host_files.h"

const char *host_files(struct error *why)
{
	error_set(why, ERR_UNSUPPORTED,
		  "macOS has nothing by which a supervisor could give up files");
	return "open";
}
