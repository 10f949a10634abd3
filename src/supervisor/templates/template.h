/* SPDX-License-Identifier: MIT */
/*
 * Templates: machines that are made to be saved, and machines that are restored from them. A
 * template is a directory with template.json, ram, state, and the disk that belongs to them. A
 * session has a copy of that disk (session/bases). Facts say what the saved machine depends on. If
 * one of the facts is different now, or a file has changed, the machine boots cold.
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
/* The files that a save leaves in the workspace. */
#define TEMPLATE_SAVED_RAM "template.ram"
#define TEMPLATE_SAVED_STATE "template.state"
#define TEMPLATE_FORK_STATE "fork.state"
#define TEMPLATE_FORK_DISK "fork.disk"

struct template
{
	enum vm_origin origin;
	int ram_fd;		 /* -1: with VM_COLD, or if the memory is in the state */
	int state_fd;		 /* this and the next: only with VM_RESTORED */
	int siblings_fd;	 /* template_siblings.h; -1: without a ram_fd */
	bool has_card;		 /* VM_RESTORED: with a network card in the state */
	char card_mac[MAC_TEXT]; /* the address that the guest knows of it; "": its own */
	json_t *facts;		 /* for a machine that can be saved */
	char why[256];		 /* why VM_COLD and not VM_RESTORED; "": no restore was asked for */
};
#define TEMPLATE_NONE                                                              \
	{                                                                          \
		.origin = VM_COLD, .ram_fd = -1, .state_fd = -1, .siblings_fd = -1 \
	}

/* Begins a template for a machine of the config that will be saved. Hashes the files. */
int template_begin(const struct backend *backend, const struct config *config,
		   enum accelerator accelerator, const struct boot_files *files,
		   struct template *out, struct error *err);
/* Opens the template in the directory. If the machine cannot be restored, out->why is the reason;
 * that is no error. Hashes the root disk if it was not hashed. own: the machine gets memory of its
 * own. */
void template_open(const char *directory, bool own, const struct backend *backend,
		   const struct config *config, enum accelerator accelerator,
		   struct boot_files *files, struct template *out);
void template_close(struct template *template); /* accepts TEMPLATE_NONE */

#endif
