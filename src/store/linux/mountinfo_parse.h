/* SPDX-License-Identifier: MIT */
#ifndef STORE_LINUX_MOUNTINFO_PARSE_H
#define STORE_LINUX_MOUNTINFO_PARSE_H

#include "store/mountinfo.h"

/* Parses `text`, the contents of /proc/PID/mountinfo. Changes the text. Skips malformed lines. */
int mountinfo_parse(char *text, struct mountinfo *out, struct error *err);

#endif
