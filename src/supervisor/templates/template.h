/* SPDX-License-Identifier: MIT */
/*
 * Machines that are made to be saved, and machines that are restored from a template. A template is
 * a directory with template.json, ram, state, and the disk of the same moment. A session has a copy
 * of the template's disk (session/bases). The facts in template.json describe the properties of the
 * host, and the files, on which the saved machine depends. If one of these facts differs now, or a
 * file has changed, the machine boots and is not restored.
 */
#ifndef SUPERVISOR_TEMPLATE_H
#define SUPERVISOR_TEMPLATE_H

#include <jansson.h>

#include "backend/backend.h"
#include "base/error.h"
#include "base/mac.h"
#include "contract/request.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/bundles.h"

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
	int ram_fd;	 /* the descriptor of the memory; -1: the origin is VM_COLD, or the memory
			  * is a part of the saved state */
	int state_fd;	 /* the descriptor of the saved state, for VM_RESTORED; otherwise -1 */
	int siblings_fd; /* the descriptor of the socket of template_siblings.h; -1: there is
			  * none */
	bool has_card;	 /* for VM_RESTORED: the saved state has a network card */
	/* The MAC address that the guest has recorded for the card; "": the card's own address. */
	char card_mac[MAC_TEXT];
	/* For VM_RESTORED: the saved state has the disks of the bundles, and the guest has mounted
	 * them. Otherwise they are plugged in when the machine runs. */
	bool has_disks;
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

/* Begins a template. Makes the memory and the facts for a machine that will be saved. Hashes the
 * boot files, since their digests are among the facts. */
int template_begin(const struct backend *backend, const struct config *config,
		   enum accelerator accelerator, const struct boot_files *files,
		   struct template *out, struct error *err);
/* Opens the template in `directory`. If the machine cannot be restored from the template, sets
 * out->why to the reason. A failure is not an error, since the machine can boot. Hashes the root
 * disk if it was not hashed yet. If `own` is true, the machine gets its own memory, and does not
 * share the template's memory with other machines. `bundles` are the disks of config.bundles. */
void template_open(const char *directory, bool own, const struct backend *backend,
		   const struct config *config, enum accelerator accelerator,
		   struct boot_files *files, const struct bundle_list *bundles,
		   struct template *out);
void template_close(struct template *template); /* accepts TEMPLATE_NONE */

#endif
