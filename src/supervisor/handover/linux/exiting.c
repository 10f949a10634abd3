/* SPDX-License-Identifier: MIT */
#include "supervisor/handover/exiting.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PF_EXITING 0x4u /* a flag of the kernel's linux/sched.h; its value in /proc is stable */

/* Returns true if the process is exiting or has exited. The flags of a process are the ninth field
 * of its file `stat`. */
bool process_is_exiting(pid_t pid)
{
	char name[40], text[512];
	const char *field;
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	autoclose int fd = open(name, O_RDONLY | O_CLOEXEC);

	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	text[n > 0 ? n : 0] = '\0';
	/* The second field, the name of the process in parentheses, may contain any character. So
	 * its end is the last ")" of the line. After that ")" come the third field, which is the
	 * state, and the other fields. */
	field = strrchr(text, ')');
	for (int i = 2; field && i < 9; i++)
		field = strchr(field + 1, ' ');
	return !field || strtoul(field, NULL, 10) & PF_EXITING;
}
