/* SPDX-License-Identifier: MIT */
#ifndef OCI_CONSOLE_H
#define OCI_CONSOLE_H

#include <stdint.h>

#include "base/error.h"

/* Opens a pseudo-terminal of the host in raw mode. Sends its master and its name to the program
 * that listens at `socket_path`, which is an engine. Returns a descriptor of the slave. */
int console_open(const char *socket_path, uint16_t rows, uint16_t columns, struct error *err);

#endif
