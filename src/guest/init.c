/* SPDX-License-Identifier: MIT */
/* /init of the initramfs, then PID 1. */
#include "base/error.h"
#include "guest/initramfs.h"
#include "guest/pid1.h"
#include "guest/power.h"
#include "guest/roles.h"

int role_init(void)
{
	struct error err = {0};
	int program_fd = -1;

	if (initramfs_leave(&program_fd, &err) == 0)
		pid1_run(program_fd, &err);
	power_fail(err.msg);
}
