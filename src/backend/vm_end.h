/* SPDX-License-Identifier: MIT */
#ifndef BACKEND_VM_END_H
#define BACKEND_VM_END_H

/* The ways in which a VM can end, according to its VMM. */
enum vm_end {
	VM_END_POWERED_OFF, /* the guest has switched itself off */
	VM_END_RESET,	    /* the guest has panicked or rebooted */
	VM_END_KILLED,	    /* the supervisor has killed the VM */
	/* The VMM has crashed, has broken its protocol, or was ended by another process. */
	VM_END_CRASHED,
	VM_END_STOPPED /* the VMM has stopped the VM without a command to do so, and was killed */
};

#endif
