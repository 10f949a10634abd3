/* SPDX-License-Identifier: MIT */
/* What the command line of QEMU depends on: the machine, by architecture, accelerator and purpose.
 */
#ifndef BACKEND_QEMU_MACHINE_ROW_H
#define BACKEND_QEMU_MACHINE_ROW_H

#include "backend/qemu/command_line.h"

/* The host's processor without virtual machines of its own: KVM's emulation of VMX and SVM is code
 * that no agent needs and that a hostile guest would attack. */
#define CPU_KVM_AMD64 "host,-vmx,-svm"

struct machine_row {
	const char *machine;
	const char *accel;
	const char *cpu;
	const char *bus;	   /* suffix of every virtio device's name */
	bool qboot;		   /* its kernel can be entered by that firmware */
	const char *other;	   /* behind machine, where another firmware enters it; or NULL */
	const char *const *extra;  /* further words, or NULL */
	const char *const *append; /* kernel command line */
};

/* NULL: there is no such machine. */
const struct machine_row *machine_row_find(enum architecture architecture,
					   enum accelerator accelerator, enum purpose purpose);

#endif
