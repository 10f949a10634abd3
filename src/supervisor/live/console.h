/* SPDX-License-Identifier: MIT */
/*
 * console.sock: the serial console, raw bytes both ways, for one client at a time; whoever comes
 * while it is taken is closed at once. A client sees what the guest says from then on (serial.log
 * has the rest). The VM never waits for a client: what one does not read is kept up to
 * LIMIT_CONSOLE_BYTES and lost beyond that. A guest that does not read makes its client wait.
 */
#ifndef SUPERVISOR_CONSOLE_H
#define SUPERVISOR_CONSOLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"

#define CONSOLE_SOCK_NAME "console.sock"

struct console;

/* Takes bytes for the guest: how many; console_room() follows when these are fewer than given. */
typedef size_t console_input_fn(void *data, const uint8_t *bytes, size_t len);

/* listen_fd becomes the console's own, also on failure. */
struct console *console_new(struct loop *loop, int listen_fd, console_input_fn *input, void *data,
			    struct log *log, struct error *err);
/* All accept NULL. */
void console_output(struct console *console, const uint8_t *bytes, size_t len);
void console_room(struct console *console);
void console_free(struct console *console); /* not in the input function */

#endif
