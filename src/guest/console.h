/* SPDX-License-Identifier: MIT */
/* The guest's own words, one line each on the serial console, where the host keeps them. */
#ifndef GUEST_CONSOLE_H
#define GUEST_CONSOLE_H

/* "microagent-init: <text>\n" in one write to standard error, and waits until it has left the
 * machine's serial port. Never fails: a console that is gone is nobody to tell. */
void console_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
