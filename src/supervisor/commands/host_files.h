/* SPDX-License-Identifier: MIT */
#ifndef SUPERVISOR_HOST_FILES_H
#define SUPERVISOR_HOST_FILES_H

#include "base/error.h"

/* Returns the name of the method that keeps a live supervisor from the files of this host
 * (isolate_files_name()). There are two methods. If one or both of them do not work on this host,
 * *why has the reason. If both work, *why is not set. */
const char *host_files(struct error *why);

#endif
