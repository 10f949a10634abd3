/* SPDX-License-Identifier: MIT */
#ifndef SUPERVISOR_HOST_FILES_H
#define SUPERVISOR_HOST_FILES_H

#include "base/error.h"

/* Returns by what a live supervisor is kept from the files of this host: a name of
 * isolate_files_name(). *why says why one of the two ways, or both, do not work; it is not set if
 * both work. */
const char *host_files(struct error *why);

#endif
