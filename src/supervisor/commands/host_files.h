/* SPDX-License-Identifier: MIT */
#ifndef SUPERVISOR_HOST_FILES_H
#define SUPERVISOR_HOST_FILES_H

#include "base/error.h"

/* By what a live supervisor is kept from the files of this host: "landlock", "root", or "open",
 * which is by nothing. why: set where it is not the first of these. */
const char *host_files(struct error *why);

#endif
