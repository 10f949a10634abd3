/* SPDX-License-Identifier: MIT */
#include "guest/init/power.h"

#include <sys/reboot.h>
#include <unistd.h>

#include "guest/console.h"
#include "guest/init/kernel_line.h"
#include "guest/init/mounts.h"

static void end_machine(int how) __attribute__((noreturn));

static void end_machine(int how)
{
	mounts_end();
	reboot(how);
	/* Without the right to it we are no PID 1 of a machine: a container, a test. */
	_exit(125);
}

/* Some VMMs cannot be switched off, and end when the processor is reset (Firecracker's ACPI has no
 * S5). The host knows which it was by the agent's word that the machine is ending. */
#define BY_RESET "microagent.poweroff=reset"

void power_off(void)
{
	end_machine(kernel_line_says(BY_RESET) ? RB_AUTOBOOT : RB_POWER_OFF);
}

/* And some boot a machine anew that was reset, which would fail again (Virtualization.framework).
 */
#define FAIL_BY_OFF "microagent.fail=off"

void power_fail(const char *reason)
{
	console_line("%s; the machine ends", reason);
	end_machine(kernel_line_says(FAIL_BY_OFF) ? RB_POWER_OFF : RB_AUTOBOOT);
}
