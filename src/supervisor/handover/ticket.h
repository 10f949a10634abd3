/* SPDX-License-Identifier: MIT */
/*
 * The things that start and run give to the live supervisor: descriptors at fixed numbers and one
 * small JSON document. The live supervisor is this executable, executed anew. So it begins with a
 * small address space, with nothing of the request in it, and with no descriptor of the caller
 * except a lifeline.
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

/* The numbers of the descriptors. 2 is supervisor.log. */
enum live_fd {
	LIVE_TICKET = 3,
	LIVE_STATE_DIR,
	LIVE_WORKSPACE,
	LIVE_LEASE,	 /* the lease, which its children inherit */
	LIVE_LEASE_LOCK, /* the lock of the lease, which they do not inherit */
	LIVE_KERNEL,
	LIVE_INITRD,
	LIVE_ROOTFS,
	LIVE_BASE,  /* the disk below a layer */
	LIVE_MODEL, /* this and the next two: for a macOS guest, which has no kernel and initrd */
	LIVE_IDENTIFIER,
	LIVE_AUXILIARY,
	LIVE_RAM,	 /* memory of a template-to-be, or of the template that is restored */
	LIVE_STATE,	 /* state of a machine that is restored */
	LIVE_SIBLINGS,	 /* template_siblings.h, if the memory is a template's */
	LIVE_CONTROL,	 /* listening control.sock */
	LIVE_REPORT,	 /* report.h, the writing end */
	LIVE_COMMAND,	 /* run: ends with the waiting command; a byte in it: SIGTERM was sent */
	LIVE_CONTAINERS, /* the directory of containers */
	LIVE_LOOPBACK,	 /* listener of a loopback to the guest's loopback */
	LIVE_CALLER,	 /* ends with the caller, if it gave a lifeline */
	LIVE_FD_END,
	LIVE_DISKS = LIVE_FD_END /* and following, in the order of ticket->disks */
};

/* The document of the ticket. In a ticket that was received, texts and JSON are borrowed from the
 * member document. */
struct ticket {
	const char *state_dir, *id;
	const json_t *identity; /* identity of the request */
	enum accelerator accelerator;
	const char *accelerator_reason;
	bool attach, remove;
	bool reader, writer; /* enum vm_use */
	enum vm_origin origin;
	int64_t handed;	     /* a bit for each descriptor below LIVE_FD_END that is there */
	int64_t cell_number; /* 0: our pid is the number */
	/* VM_RESTORED with a network card in the state: address of the card, or ""; else NULL. */
	const char *card_mac;
	const json_t *boot; /* for runtime.json: how it is booted, if there was a choice; or NULL */
	const json_t *facts; /* facts of a machine that can be saved; or NULL */
	const json_t *marks; /* by name, monotonic ns: how the command spent its time */
	const json_t *links; /* {"interfaces":[..]}: cards whose taps follow the disks; or NULL */
	const json_t
		*disks; /* disks_json(); the live supervisor's descriptors begin at LIVE_DISKS */
	json_t *document;
};

bool ticket_has(const struct ticket *ticket, enum live_fd fd);

/* Returns how many milliseconds may pass until the guest says that it is ready. The time counts
 * from the machine's start. Under KVM it counts from the first sign of the guest's kernel, which
 * must come within LIMIT_FIRMWARE_MS of the start. */
uint64_t ticket_boot_ms(enum accelerator accelerator, bool macos);

/* Starts the live supervisor of <state_dir>/<id> in a session of its own. fds[i], from
 * LIVE_STATE_DIR on, is our descriptor for number i in the child; -1: not given. ticket->handed is
 * computed from fds. disks are the disks that ticket->disks describes. taps is the first tap of
 * ticket->links; the others follow it by number. */
int ticket_spawn(struct ticket *ticket, const int fds[LIVE_FD_END], const struct disk_list *disks,
		 int taps, int log_fd, struct proc *out, struct error *err);
/* Finds the path of the running program, to execute it anew. Returns -1 with errno if it fails. In
 * linux/ticket_program.c and darwin/ticket_program.c. */
int ticket_program(char out[PATH_MAX]);
/* Receives the ticket in the child. Reads the document from LIVE_TICKET and closes it. Makes the
 * other descriptors close-on-exec. */
int ticket_receive(struct ticket *out, struct error *err);
/* Closes the boot files, which the VMM has now. The root's descriptor stays open, to tell how much
 * room its disk has. */
void ticket_close_boot_files(const struct ticket *ticket);
void ticket_free(struct ticket *ticket);
size_t ticket_link_count(const json_t *links); /* 0 for NULL */

#endif
