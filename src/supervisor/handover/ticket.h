/* SPDX-License-Identifier: MIT */
/*
 * The ticket, which the commands start and run give to the live supervisor: descriptors at fixed
 * numbers, and one small JSON document. The live supervisor is a new execution of the same program.
 * So its address space is small and contains no data of the request. The only descriptor of the
 * caller that it inherits is a lifeline.
 */
#ifndef SUPERVISOR_TICKET_H
#define SUPERVISOR_TICKET_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/error.h"
#include "base/proc.h"
#include "contract/request.h"
#include "supervisor/inputs/disks.h"

/* The numbers of the live supervisor's descriptors. Descriptor 2 is supervisor.log. */
enum live_fd {
	LIVE_TICKET = 3,
	LIVE_STATE_DIR,
	LIVE_WORKSPACE,
	LIVE_LEASE, /* the lease, which the children of the live supervisor inherit */
	/* The lock of the lease, which the children of the live supervisor do not inherit. */
	LIVE_LEASE_LOCK,
	LIVE_KERNEL,
	LIVE_INITRD,
	LIVE_ROOTFS,
	LIVE_BASE, /* the base of the layer LIVE_ROOTFS; given only if LIVE_ROOTFS is a layer */
	/* The hardware model of a macOS guest. A macOS guest has this file and the next two in
	 * place of kernel and initrd. */
	LIVE_MODEL,
	LIVE_IDENTIFIER,
	LIVE_AUXILIARY,
	/* The memory of a machine that becomes a template, or of the template from which the
	 * machine is restored. */
	LIVE_RAM,
	LIVE_STATE,    /* the saved state of a machine that is restored */
	LIVE_SIBLINGS, /* the socket of template_siblings.h, if the memory is that of a template */
	LIVE_CONTROL,  /* the listening control.sock */
	LIVE_REPORT,   /* the writing end of the report (report.h) */
	/* For run: a pipe that ends when the command ends. A byte in the pipe says that SIGTERM was
	 * sent to the command. */
	LIVE_COMMAND,
	LIVE_CONTAINERS, /* the directory of containers */
	LIVE_LOOPBACK,	 /* a socket that listens on the host's loopback, and whose connections are
			  * led to the guest's loopback */
	LIVE_CALLER,	 /* the caller's lifeline, if the caller gave one */
	LIVE_FD_END,
	/* The number of the first disk. The numbers of the other disks follow, in the order of
	 * ticket->disks. */
	LIVE_DISKS = LIVE_FD_END
};

/* The members of the ticket's document. In a received ticket, the texts and the JSON values belong
 * to the member `document`. */
struct ticket {
	const char *state_dir, *id;
	const json_t *identity; /* the identity of the machine, from the request */
	enum accelerator accelerator;
	const char *accelerator_reason;
	bool attach, remove;
	bool reader, writer; /* the purpose of the machine (enum vm_use) */
	enum vm_origin origin;
	/* A set with one bit for each number below LIVE_FD_END: the bit is set if that descriptor
	 * was given. */
	int64_t handed;
	int64_t cell_number; /* the number from which the names of cells are made; 0: they are made
			      * from the pid of the live supervisor */
	/* The MAC address of the network card in the saved state; "" is allowed
	 * (vm_boot.card_saved). NULL: the state has no card. */
	const char *card_mac;
	bool disks_saved; /* the saved state has the disks (vm_boot.disks_saved) */
	/* Says in runtime.json if the machine was booted or restored, and why; NULL: only a boot
	 * was asked for. */
	const json_t *boot;
	const json_t *facts; /* the facts about a machine that can be saved, as template.h describes
			      * them; NULL: the machine cannot be saved */
	/* {name: time}: the monotonic time, in ns, at which the command completed each of its
	 * steps */
	const json_t *marks;
	/* {"interfaces":[..]}: the network cards. The descriptors of their taps follow those of the
	 * disks. NULL: there are none. */
	const json_t *links;
	const json_t *disks; /* the disks from LIVE_DISKS on, as disks_json() returns them */
	json_t *document;
};

bool ticket_has(const struct ticket *ticket, enum live_fd fd);

/* Returns the time, in ms, within which the guest must report that it is ready. Without KVM, the
 * time is measured from the start of the machine. With KVM, it is measured from the first output of
 * the guest's kernel, which must come within LIMIT_FIRMWARE_MS after the start. */
uint64_t ticket_boot_ms(enum accelerator accelerator, bool macos);

/* Starts the live supervisor of <state_dir>/<id> in its own session (setsid). For each i from
 * LIVE_STATE_DIR on, the descriptor fds[i] of this process becomes number i in the child; -1: the
 * child gets no descriptor i. Sets ticket->handed to the set of descriptors in `fds`. `disks` are
 * the disks that ticket->disks describes. `taps` is the descriptor of the first tap of
 * ticket->links; the other taps have the following numbers. The child's standard error is
 * log_fd. */
int ticket_spawn(struct ticket *ticket, const int fds[LIVE_FD_END], const struct disk_list *disks,
		 int taps, int log_fd, struct proc *out, struct error *err);
/* Writes a path by which the running program can be executed again. Returns 0, or -1 with errno.
 * The function is in linux/ticket_program.c and darwin/ticket_program.c. */
int ticket_program(char out[PATH_MAX]);
/* Receives the ticket in the live supervisor. Reads the document from LIVE_TICKET and closes that
 * descriptor. Makes the other descriptors close-on-exec. */
int ticket_receive(struct ticket *out, struct error *err);
/* Closes the descriptors of the boot files after the VMM has got copies of them. Leaves LIVE_ROOTFS
 * open, since the live supervisor measures with it how much room the host's disk has. */
void ticket_close_boot_files(const struct ticket *ticket);
void ticket_free(struct ticket *ticket);
size_t ticket_link_count(const json_t *links); /* returns the number of cards in `links`; 0 if
					        * `links` is NULL */

#endif
