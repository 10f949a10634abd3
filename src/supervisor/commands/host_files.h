/* SPDX-License-Identifier: MIT */
#ifndef SUPERVISOR_HOST_FILES_H
#define SUPERVISOR_HOST_FILES_H

#include "base/error.h"

/* Returns what keeps a live supervisor from the files of this host: a name of isolate_files_name().
 * why is set unless both ways work. */
const char *host_files(struct error *why);

#endif
