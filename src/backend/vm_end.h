/* SPDX-License-Identifier: MIT */
#ifndef BACKEND_VM_END_H
#define BACKEND_VM_END_H

/* The ways in which a VM can end, by the word of its VMM. */
enum vm_end {
	VM_END_POWERED_OFF, /* the guest switched itself off */
	VM_END_RESET,	    /* the guest panicked or rebooted */
	VM_END_KILLED,	    /* the supervisor has killed the VM */
	VM_END_CRASHED, /* the VMM has crashed, broken its protocol, or was ended from outside */
	VM_END_STOPPED	/* the VMM has stopped the VM without being asked, and was killed */
};

#endif
