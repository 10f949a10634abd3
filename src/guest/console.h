/* SPDX-License-Identifier: MIT */
/* Messages of the guest on the serial console, one line each. The host keeps them. */
#ifndef GUEST_CONSOLE_H
#define GUEST_CONSOLE_H

/* Writes "microagent-init: <text>\n" in one write to standard error, and waits until it has left
 * the machine's serial port. Never fails: without a console there is nobody to tell. */
void console_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
