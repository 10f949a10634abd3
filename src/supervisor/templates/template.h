/* SPDX-License-Identifier: MIT */
/*
 * Machines that are made to be saved, and machines that are restored from a template. A template is
 * a directory with template.json, ram, state, and the disk that belongs to them. A session has a
 * copy of the template's disk (session/bases). The facts in template.json describe the properties
 * of the host, and the files, on which the saved machine depends. If one of these facts is
 * different now, or a file has changed, the machine is not restored but boots.
 */
#ifndef SUPERVISOR_TEMPLATE_H
#define SUPERVISOR_TEMPLATE_H

#include <jansson.h>

#include "backend/backend.h"
#include "base/error.h"
#include "base/mac.h"
#include "contract/request.h"
#include "supervisor/inputs/boot_files.h"

#define TEMPLATE_RECORD "template.json"
#define TEMPLATE_RAM "ram"
#define TEMPLATE_STATE "state"
/* The names of the files that a save leaves in the workspace. */
#define TEMPLATE_SAVED_RAM "template.ram"
#define TEMPLATE_SAVED_STATE "template.state"
#define TEMPLATE_FORK_STATE "fork.state"
#define TEMPLATE_FORK_DISK "fork.disk"

struct template
{
	enum vm_origin origin;
	int ram_fd;	 /* the memory; -1: the origin is VM_COLD, or the memory is in the
				  * state */
	int state_fd;	 /* the saved state, for VM_RESTORED; else -1 */
	int siblings_fd; /* the socket of template_siblings.h; -1: there is none */
	bool has_card;	 /* for VM_RESTORED: the saved state has a network card */
	/* The address by which the guest knows the card; "": the address that the card itself
	 * has. */
	char card_mac[MAC_TEXT];
	/* The facts of a machine that can be saved; NULL: the machine cannot be saved. */
	json_t *facts;
	/* The reason why the origin is VM_COLD although a restore was asked for; "": no restore was
	 * asked for, or the machine is restored. */
	char why[256];
};
#define TEMPLATE_NONE                                                              \
	{                                                                          \
		.origin = VM_COLD, .ram_fd = -1, .state_fd = -1, .siblings_fd = -1 \
	}

/* Begins a template: makes the memory and the facts for a machine that will be saved. Hashes the
 * boot files. */
int template_begin(const struct backend *backend, const struct config *config,
		   enum accelerator accelerator, const struct boot_files *files,
		   struct template *out, struct error *err);
/* Opens the template in `directory`. If the machine cannot be restored from it, this is not an
 * error, and out->why has the reason. Hashes the root disk if it was not hashed yet. If `own` is
 * true, the machine gets its own memory, and does not share the template's memory with other
 * machines. */
void template_open(const char *directory, bool own, const struct backend *backend,
		   const struct config *config, enum accelerator accelerator,
		   struct boot_files *files, struct template *out);
void template_close(struct template *template); /* accepts TEMPLATE_NONE */

#endif
