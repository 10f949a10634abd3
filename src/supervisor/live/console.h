/* SPDX-License-Identifier: MIT */
/*
 * Serves console.sock: the serial console, raw bytes both ways, for one client at a time. A client
 * that comes while another one is connected is closed at once. A client sees what the guest says
 * from then on (serial.log has the rest). The VM never waits for a client. Up to
 * LIMIT_CONSOLE_BYTES that a client does not read are kept; more is lost. A guest that does not
 * read makes its client wait.
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

/* Gives bytes to the guest. Returns how many were taken; if fewer than given, console_room()
 * follows. */
typedef size_t console_input_fn(void *data, const uint8_t *bytes, size_t len);

/* Makes the console. Takes over listen_fd, also if it fails. */
struct console *console_new(struct loop *loop, int listen_fd, console_input_fn *input, void *data,
			    struct log *log, struct error *err);
/* All accept NULL. */
void console_output(struct console *console, const uint8_t *bytes, size_t len);
void console_room(struct console *console);
void console_free(struct console *console); /* not in the input function */

#endif
