/* SPDX-License-Identifier: MIT */
/* The table of QEMU's machines. A row has the words of QEMU's command line for one architecture,
 * accelerator and purpose. */
#ifndef BACKEND_QEMU_MACHINE_ROW_H
#define BACKEND_QEMU_MACHINE_ROW_H

#include "backend/qemu/command_line.h"

/* The host's processor, but without support for virtual machines inside the guest. For such support
 * KVM would emulate VMX or SVM, with code that a hostile guest could attack. No AI agent needs
 * it. */
#define CPU_KVM_AMD64 "host,-vmx,-svm"

struct machine_row {
	const char *machine;
	const char *accel;
	const char *cpu;
	const char *bus; /* the last part of the names of virtio devices: "pci" or "device" */
	bool qboot;	 /* the firmware qboot can start the kernel of this machine */
	/* A text that is added to `machine` if the firmware is not qboot. NULL: no text is
	 * added. */
	const char *other;
	const char *const *extra;  /* further words of QEMU's command line; NULL: there are none */
	const char *const *append; /* words of the kernel's command line; NULL ends the array */
};

/* Returns the row for this architecture, accelerator and purpose. Returns NULL if QEMU has no such
 * machine. */
const struct machine_row *machine_row_find(enum architecture architecture,
					   enum accelerator accelerator, enum purpose purpose);

#endif
