/* SPDX-License-Identifier: MIT */
/* Reports that a VMM cannot be watched. On macOS a service of the system runs each machine. No
 * other process can list the children and sockets of such a service. */
#include "supervisor/live/watch_vmm.h"

static int cannot_watch(struct error *err)
{
	return error_set(err, ERR_UNSUPPORTED,
			 "macOS does not show which files a machine's process has open");
}

int watch_vmm_expect(struct watch_vmm *watch, const struct proc *vmm, struct error *err)
{
	(void)watch, (void)vmm;
	return cannot_watch(err);
}

json_t *watch_vmm_look(struct watch_vmm *watch, struct error *err)
{
	(void)watch;
	cannot_watch(err);
	return NULL;
}
