/* SPDX-License-Identifier: MIT */
#ifndef SUPERVISOR_HOST_FILES_H
#define SUPERVISOR_HOST_FILES_H

#include "base/error.h"

/* By what a live supervisor is kept from the files of this host: a name of isolate_files_name(). why:
 * set where it is not both. */
const char *host_files(struct error *why);

#endif
