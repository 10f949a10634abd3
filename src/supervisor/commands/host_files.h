/* SPDX-License-Identifier: MIT */
#ifndef SUPERVISOR_HOST_FILES_H
#define SUPERVISOR_HOST_FILES_H

#include "base/error.h"

/* Returns the name of the method that keeps a live supervisor from the files of this host
 * (isolate_files_name()). The method combines two mechanisms of the kernel. *why is set to the
 * reason if at least one of them does not work on this host; otherwise *why is not set. */
const char *host_files(struct error *why);

#endif
