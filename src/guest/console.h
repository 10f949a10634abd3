/* SPDX-License-Identifier: MIT */
/* Writes messages of the guest to the serial console, with one line for each message. The host
 * keeps these lines in the file serial.log. */
#ifndef GUEST_CONSOLE_H
#define GUEST_CONSOLE_H

/* Writes "microagent-init: <text>\n" in one write to standard error, and waits until the line has
 * left the machine's serial port. The function cannot fail: if there is no console, the line is
 * lost. */
void console_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
