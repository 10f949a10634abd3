/* SPDX-License-Identifier: MIT */
/* The fields of struct microagent_machine: which kinds of machines can have each field, and how the
 * field is put into the config of a request. */
#ifndef API_MACHINE_H
#define API_MACHINE_H

#include <jansson.h>

#include "microagent.h"

/* The kinds of machines that can have only some of the fields. (The machine of a workspace can have
 * all fields.) */
enum machine_kind {
	MACHINE_SESSION,
	MACHINE_BASE, /* the machine on which a base is provisioned */
	MACHINE_TEMPLATE,
	MACHINE_POOL /* a session that waits in a pool */
};

/* Checks that machines of the kind `kind` can have every field that is set in `machine`. Otherwise
 * fails with ERR_INVALID, and the message names the field. */
int machine_check(const struct microagent_machine *machine, enum machine_kind kind,
		  struct error *err);

/* Puts fields of `machine` into the config of a request, for example memory_mib as memoryMiB. Puts
 * only fields whose values are the same in a config. Leaves out fields that are not set. After a
 * failure, `config` may have some of the fields. */
int machine_put(json_t *config, const struct microagent_machine *machine, struct error *err);

/* Fails with ERR_CONFLICT if a machine with these fields cannot be restored. The message is the
 * reason, for example "it publishes ports". */
int machine_check_saved(const struct microagent_machine *machine, struct error *err);

#endif
