/* SPDX-License-Identifier: MIT */
#ifndef STORE_LINUX_MOUNTINFO_PARSE_H
#define STORE_LINUX_MOUNTINFO_PARSE_H

#include "store/mountinfo.h"

/* The text of /proc/PID/mountinfo, which is cut into pieces. A line that is none is passed over. */
int mountinfo_parse(char *text, struct mountinfo *out, struct error *err);

#endif
