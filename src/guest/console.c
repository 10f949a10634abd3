/* SPDX-License-Identifier: MIT */
#include "guest/console.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/agent_wire.h"

void console_line(const char *fmt, ...)
{
	char line[1280] = INIT_LINE_PREFIX;
	size_t len = sizeof(INIT_LINE_PREFIX) - 1;
	va_list args;

	va_start(args, fmt);
	vsnprintf(line + len, sizeof(line) - len - 1, fmt, args);
	va_end(args);
	for (len = 0; line[len]; len++)
		if ((unsigned char)line[len] < 0x20)
			line[len] = '?';
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0)
		return;
	/* Waits until the serial port has sent the line. Otherwise a power-off could lose the end
	 * of the line. */
	tcdrain(STDERR_FILENO);
}
