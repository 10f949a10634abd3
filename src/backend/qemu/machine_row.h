/* SPDX-License-Identifier: MIT */
/* The rows that QEMU's command line depends on: machines by architecture, accelerator and
 * purpose. */
#ifndef BACKEND_QEMU_MACHINE_ROW_H
#define BACKEND_QEMU_MACHINE_ROW_H

#include "backend/qemu/command_line.h"

/* The host's processor without support for virtual machines in the guest. KVM's emulation of VMX
 * and SVM is code that no agent needs, and that a hostile guest would attack. */
#define CPU_KVM_AMD64 "host,-vmx,-svm"

struct machine_row {
	const char *machine;
	const char *accel;
	const char *cpu;
	const char *bus;	   /* suffix of every virtio device's name */
	bool qboot;		   /* that firmware can start its kernel */
	const char *other;	   /* added to machine for another firmware; or NULL */
	const char *const *extra;  /* further words, or NULL */
	const char *const *append; /* kernel command line */
};

/* Returns the row; NULL: there is no such machine. */
const struct machine_row *machine_row_find(enum architecture architecture,
					   enum accelerator accelerator, enum purpose purpose);

#endif
