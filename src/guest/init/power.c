/* SPDX-License-Identifier: MIT */
#include "guest/init/power.h"

#include <sys/reboot.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "guest/console.h"
#include "guest/init/kernel_line.h"
#include "guest/init/mounts.h"

static void end_machine(int how, const char *last_line) __attribute__((noreturn));

/* Ends the machine. last_line goes to the console when the file systems are on the disk; NULL:
 * nothing. */
static void end_machine(int how, const char *last_line)
{
	mounts_end();
	if (last_line)
		console_line("%s", last_line);
	reboot(how);
	/* Without the right to do it, this is no PID 1 of a machine, but a container or a test. */
	_exit(125);
}

/* A word of the kernel's command line for VMMs that cannot be switched off, and that end when the
 * processor is reset (Firecracker's ACPI has no S5). The host knows which end it was by the agent's
 * message that the machine is ending. If the host has cut off the agent, it knows by the console's
 * last line. */
#define BY_RESET "microagent.poweroff=reset"

void power_off(void)
{
	if (kernel_line_says(BY_RESET))
		end_machine(RB_AUTOBOOT, ORDERLY_END_LINE);
	end_machine(RB_POWER_OFF, NULL);
}

/* A word for VMMs that boot a machine again after a reset, which would fail again
 * (Virtualization.framework). */
#define FAIL_BY_OFF "microagent.fail=off"

void power_fail(const char *reason)
{
	console_line("%s; the machine ends", reason);
	end_machine(kernel_line_says(FAIL_BY_OFF) ? RB_POWER_OFF : RB_AUTOBOOT, NULL);
}
