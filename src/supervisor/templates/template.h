/* SPDX-License-Identifier: MIT */
/*
 * Templates: a machine that is made to be saved, and one that is restored from what was saved. A
 * template is a directory: template.json, ram, state, and the disk that belongs to them, of which a
 * session has a copy (session/bases). It is bound to all that the saved machine depends on by
 * facts; where one of them is another now, or a file is not what it was, the machine boots cold.
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
/* What save leaves in the workspace. */
#define TEMPLATE_SAVED_RAM "template.ram"
#define TEMPLATE_SAVED_STATE "template.state"
#define TEMPLATE_FORK_STATE "fork.state"
#define TEMPLATE_FORK_DISK "fork.disk"

struct template
{
	enum vm_origin origin;
	int ram_fd;		 /* -1: with VM_COLD, and where memory is in the state */
	int state_fd;		 /* this and the next: of VM_RESTORED alone */
	int siblings_fd;	 /* template_siblings.h; -1: without a ram_fd */
	bool has_card;		 /* VM_RESTORED: with a network card in the state */
	char card_mac[MAC_TEXT]; /* ... of which its guest knows this address; "": its own */
	json_t *facts;		 /* of a machine that can be saved */
	char why[256];		 /* VM_COLD in place of VM_RESTORED; "": nobody asked for that */
};
#define TEMPLATE_NONE                                                              \
	{                                                                          \
		.origin = VM_COLD, .ram_fd = -1, .state_fd = -1, .siblings_fd = -1 \
	}

/* For a machine of the config that is to be saved. The files are hashed. */
int template_begin(const struct backend *backend, const struct config *config,
		   enum accelerator accelerator, const struct boot_files *files,
		   struct template *out, struct error *err);
/* Of the template in that directory. What keeps the machine from being restored is why; an error is
 * none of it. The root disk is hashed, if it was not. own: its memory is to be its own. */
void template_open(const char *directory, bool own, const struct backend *backend,
		   const struct config *config, enum accelerator accelerator,
		   struct boot_files *files, struct template *out);
void template_close(struct template *template); /* accepts TEMPLATE_NONE */

#endif
