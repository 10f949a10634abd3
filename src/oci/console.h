/* SPDX-License-Identifier: MIT */
#ifndef OCI_CONSOLE_H
#define OCI_CONSOLE_H

#include <stdint.h>

#include "base/error.h"

/* A terminal of the host, raw, whose master goes to who listens at `socket` (an engine), with its
 * name beside it. Returns the other side. */
int console_open(const char *socket_path, uint16_t rows, uint16_t columns, struct error *err);

#endif
