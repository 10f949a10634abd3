/* SPDX-License-Identifier: MIT */
#include "guest/init/power.h"

#include <sys/reboot.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "guest/console.h"
#include "guest/init/kernel_line.h"
#include "guest/init/mounts.h"

static void end_machine(int how, const char *last_line) __attribute__((noreturn));

/* last_line: what the console says when the file systems are on the disk; NULL: nothing. */
static void end_machine(int how, const char *last_line)
{
	mounts_end();
	if (last_line)
		console_line("%s", last_line);
	reboot(how);
	/* Without the right to it we are no PID 1 of a machine: a container, a test. */
	_exit(125);
}

/* Some VMMs cannot be switched off, and end when the processor is reset (Firecracker's ACPI has no
 * S5). The host knows which it was by the agent's word that the machine is ending, and where it has
 * cut off the agent by the console's last line. */
#define BY_RESET "microagent.poweroff=reset"

void power_off(void)
{
	if (kernel_line_says(BY_RESET))
		end_machine(RB_AUTOBOOT, ORDERLY_END_LINE);
	end_machine(RB_POWER_OFF, NULL);
}

/* And some boot a machine anew that was reset, which would fail again (Virtualization.framework).
 */
#define FAIL_BY_OFF "microagent.fail=off"

void power_fail(const char *reason)
{
	console_line("%s; the machine ends", reason);
	end_machine(kernel_line_says(FAIL_BY_OFF) ? RB_POWER_OFF : RB_AUTOBOOT, NULL);
}
