/* SPDX-License-Identifier: MIT */
/*
 * What start and run hand to the live supervisor: descriptors at fixed numbers and one small JSON
 * document. The live supervisor is this executable executed anew, so it begins with a small address
 * space, with nothing of the request in it, and with no descriptor of the caller but a lifeline.
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

/* 2 is supervisor.log. */
enum live_fd {
	LIVE_TICKET = 3,
	LIVE_STATE_DIR,
	LIVE_WORKSPACE,
	LIVE_LEASE,	 /* which its children inherit */
	LIVE_LEASE_LOCK, /* and its lock, which they do not */
	LIVE_KERNEL,
	LIVE_INITRD,
	LIVE_ROOTFS,
	LIVE_BASE,  /* below a layer */
	LIVE_MODEL, /* this and the next two: of a macOS guest, which has no kernel and initrd */
	LIVE_IDENTIFIER,
	LIVE_AUXILIARY,
	LIVE_RAM,	 /* of a machine that becomes a template, or has the memory of one */
	LIVE_STATE,	 /* of a machine that is restored */
	LIVE_SIBLINGS,	 /* template_siblings.h, of one that has the memory of a template */
	LIVE_CONTROL,	 /* listening control.sock */
	LIVE_REPORT,	 /* report.h, the writing end */
	LIVE_COMMAND,	 /* run: ends with the waiting command; a byte before: SIGTERM told it to */
	LIVE_CONTAINERS, /* the directory of containers */
	LIVE_LOOPBACK,	 /* the listener of a loopback that leads to the guest's */
	LIVE_CALLER,	 /* ends with the caller, where it gave a lifeline */
	LIVE_FD_END,
	LIVE_DISKS = LIVE_FD_END /* and on, in the order of the ticket's disks */
};

/* Texts and JSON are borrowed from document in a ticket that was received. */
struct ticket {
	const char *state_dir, *id;
	const json_t *identity; /* of the request */
	enum accelerator accelerator;
	const char *accelerator_reason;
	bool attach, remove;
	bool reader, writer; /* enum vm_use */
	enum vm_origin origin;
	int64_t handed;	     /* a bit for each descriptor below LIVE_FD_END that is there */
	int64_t cell_number; /* 0: none but our pid */
	/* VM_RESTORED with a network card in the state: its address, or ""; else NULL. */
	const char *card_mac;
	const json_t *boot; /* of runtime.json: how it is booted, if that was a question; or NULL */
	const json_t *facts; /* of a machine that can be saved; or NULL */
	const json_t *marks; /* monotonic nanoseconds by name: where the command's time went */
	const json_t *links; /* {"interfaces":[..]} of cards with taps behind the disks; or NULL */
	const json_t
		*disks; /* disks_json(); the live supervisor's descriptors begin at LIVE_DISKS */
	json_t *document;
};

bool ticket_has(const struct ticket *ticket, enum live_fd fd);

/* How long it may take to the guest's word that it is ready: from its start, and under KVM from the
 * first sign of its kernel, which has LIMIT_FIRMWARE_MS from the start. */
uint64_t ticket_boot_ms(enum accelerator accelerator, bool macos);

/* Starts the live supervisor of <state_dir>/<id> in a session of its own. fds[from LIVE_STATE_DIR
 * on] are ours, by their place in the child; -1: not given. ticket->handed is made of them. disks
 * are those that ticket->disks tells of. taps is the first of those of ticket->links, in a row. */
int ticket_spawn(struct ticket *ticket, const int fds[LIVE_FD_END], const struct disk_list *disks,
		 int taps, int log_fd, struct proc *out, struct error *err);
/* The program that runs now, to be run anew; -1 and errno. linux/ticket_program.c,
 * darwin/ticket_program.c */
int ticket_program(char out[PATH_MAX]);
/* The child's side: reads the document from LIVE_TICKET and closes it; makes the other descriptors
 * close-on-exec. */
int ticket_receive(struct ticket *out, struct error *err);
/* The VMM has them now; the root's descriptor goes on telling of the room on its disk. */
void ticket_close_boot_files(const struct ticket *ticket);
void ticket_free(struct ticket *ticket);
size_t ticket_link_count(const json_t *links); /* NULL: none */

#endif
