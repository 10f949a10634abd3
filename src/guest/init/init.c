/* SPDX-License-Identifier: MIT */
/* /init of the initramfs, then PID 1. */
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "guest/init/initramfs.h"
#include "guest/init/pid1.h"
#include "guest/init/power.h"
#include "guest/roles.h"

/* As a reader it stays in the initramfs, which is then the root for good. */
int role_init(int argc, char **argv)
{
	const char *word = argc == 2 ? argv[1] : "";
	bool reader = strcmp(word, READER_WORD) == 0;
	struct error err = {0};
	int program_fd = -1;

	if ((reader ? initramfs_stay : initramfs_leave)(&program_fd, &err) == 0)
		pid1_run(program_fd, strcmp(word, CONSOLE_WORD) == 0, &err);
	power_fail(err.msg);
}
