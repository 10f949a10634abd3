/* SPDX-License-Identifier: MIT */
/* The table of QEMU's machines. A row says what an architecture, an accelerator and a purpose mean
 * for QEMU's command line. */
#ifndef BACKEND_QEMU_MACHINE_ROW_H
#define BACKEND_QEMU_MACHINE_ROW_H

#include "backend/qemu/command_line.h"

/* The host's processor, without support for virtual machines inside the guest. For such support KVM
 * emulates VMX and SVM, with code that a hostile guest could attack and no AI agent needs. */
#define CPU_KVM_AMD64 "host,-vmx,-svm"

struct machine_row {
	const char *machine;
	const char *accel;
	const char *cpu;
	const char *bus; /* the suffix in the name of every virtio device */
	bool qboot;	 /* the firmware qboot can start the kernel of this machine */
	/* A text that is added to `machine` if the firmware is not qboot; or NULL. */
	const char *other;
	const char *const *extra;  /* further words of QEMU's command line; or NULL */
	const char *const *append; /* words of the kernel's command line */
};

/* Returns the row for this architecture, accelerator and purpose; NULL: QEMU has no such
 * machine. */
const struct machine_row *machine_row_find(enum architecture architecture,
					   enum accelerator accelerator, enum purpose purpose);

#endif
