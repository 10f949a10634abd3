/* SPDX-License-Identifier: MIT */
#ifndef SUPERVISOR_HOST_FILES_H
#define SUPERVISOR_HOST_FILES_H

#include "base/error.h"

/* Returns the name of the way in which a live supervisor is kept from the files of this host
 * (isolate_files_name()). There are two ways. If one or both of them do not work on this host, *why
 * says why. If both work, *why is not set. */
const char *host_files(struct error *why);

#endif
