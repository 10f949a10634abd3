/* SPDX-License-Identifier: MIT */
#ifndef OCI_CONSOLE_H
#define OCI_CONSOLE_H

#include <stdint.h>

#include "base/error.h"

/* Opens a pseudo-terminal of the host in raw mode. Sends its master and its name to the engine,
 * which listens at `socket_path`. Returns a descriptor of the slave; -1 with an error. If `rows` or
 * `columns` is 0, the terminal's size is not set. */
int console_open(const char *socket_path, uint16_t rows, uint16_t columns, struct error *err);

#endif
