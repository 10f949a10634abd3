/* SPDX-License-Identifier: MIT */
#ifndef OCI_CONSOLE_H
#define OCI_CONSOLE_H

#include <stdint.h>

#include "base/error.h"

/* Opens a raw terminal of the host. Sends its master and its name to the program (an engine) that
 * listens at socket_path. Returns the other side of the terminal. */
int console_open(const char *socket_path, uint16_t rows, uint16_t columns, struct error *err);

#endif
