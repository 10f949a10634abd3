/* SPDX-License-Identifier: MIT */
#include "guest/init/power.h"

#include <sys/reboot.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "guest/console.h"
#include "guest/init/kernel_line.h"
#include "guest/init/mounts.h"

static void end_machine(int how, const char *last_line) __attribute__((noreturn));

/* Writes the changed data of the file systems to the disk, and ends the machine. Prints last_line
 * on the console first, unless last_line is NULL. `how` is the argument of reboot(). */
static void end_machine(int how, const char *last_line)
{
	mounts_end();
	if (last_line)
		console_line("%s", last_line);
	reboot(how);
	/* reboot() returns only if this process may not end the machine, as in a container or a
	 * test. */
	_exit(125);
}

/* A word of the kernel's command line. The word is for a VMM that has no power-off and exits when
 * the processor is reset, such as Firecracker, whose ACPI has no S5. A reset of such a machine may
 * be an orderly end or a failure. The end is orderly if the agent has sent the message that the
 * machine is ending. If the host has cut the connection to the agent, the console's last line shows
 * an orderly end. */
#define BY_RESET "microagent.poweroff=reset"

void power_off(void)
{
	if (kernel_line_says(BY_RESET))
		end_machine(RB_AUTOBOOT, ORDERLY_END_LINE);
	end_machine(RB_POWER_OFF, NULL);
}

/* A word of the kernel's command line, for a VMM that boots a machine again after a reset
 * (Virtualization.framework). A machine that is reset after a failure would fail again and again,
 * so power_fail() switches it off instead. */
#define FAIL_BY_OFF "microagent.fail=off"

void power_fail(const char *reason)
{
	console_line("%s; the machine ends", reason);
	end_machine(kernel_line_says(FAIL_BY_OFF) ? RB_POWER_OFF : RB_AUTOBOOT, NULL);
}
