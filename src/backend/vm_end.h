/* SPDX-License-Identifier: MIT */
#ifndef BACKEND_VM_END_H
#define BACKEND_VM_END_H

/* How a VM ended, by the word of its VMM. */
enum vm_end {
	VM_END_POWERED_OFF, /* the guest switched itself off */
	VM_END_RESET,	    /* panic or reboot of the guest */
	VM_END_KILLED,	    /* we ended it */
	VM_END_CRASHED,	    /* the VMM died or misbehaved by itself */
	VM_END_STOPPED	    /* it stood still without our asking; we have ended the VMM */
};

#endif
