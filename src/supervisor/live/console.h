/* SPDX-License-Identifier: MIT */
/*
 * Serves console.sock: the serial console, as raw bytes in both directions, for one client at a
 * time. If a second client connects while a client is connected, the new connection is closed at
 * once. A client gets the output that the guest writes after the client has connected; serial.log
 * also has the earlier output. The machine never waits for a client. Up to LIMIT_CONSOLE_BYTES are
 * kept for a client that does not read, and further bytes are lost. If the guest does not read, the
 * client must wait.
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

/* Passes `len` bytes that the client has typed to the guest. Returns the number of bytes that the
 * guest accepted. If this number is less than `len`, console_room() is called when the guest can
 * accept bytes again. */
typedef size_t console_input_fn(void *data, const uint8_t *bytes, size_t len);

/* Makes the console. The console closes `listen_fd`, even if the function fails. */
struct console *console_new(struct loop *loop, int listen_fd, console_input_fn *input, void *data,
			    struct log *log, struct error *err);
/* The three functions below accept NULL. console_output() sends the guest's bytes to the client.
 * console_room() says that the guest can accept bytes again. console_free() must not be called from
 * the function `input`. */
void console_output(struct console *console, const uint8_t *bytes, size_t len);
void console_room(struct console *console);
void console_free(struct console *console);

#endif
