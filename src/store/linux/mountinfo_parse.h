/* SPDX-License-Identifier: MIT */
#ifndef STORE_LINUX_MOUNTINFO_PARSE_H
#define STORE_LINUX_MOUNTINFO_PARSE_H

#include "store/mountinfo.h"

/* Parses the text of /proc/PID/mountinfo, and cuts the text into pieces. A malformed line is
 * skipped. */
int mountinfo_parse(char *text, struct mountinfo *out, struct error *err);

#endif
