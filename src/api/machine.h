/* SPDX-License-Identifier: MIT */
/* The fields of a struct microagent_machine: which kinds of machine have each field, and how the
 * field is put into the config of a request. */
#ifndef API_MACHINE_H
#define API_MACHINE_H

#include <jansson.h>

#include "microagent.h"

/* The kinds of machine that do not have all fields. (The machine of a workspace has all fields.) */
enum machine_kind {
	MACHINE_SESSION,
	MACHINE_BASE, /* the machine on which a base is provisioned */
	MACHINE_TEMPLATE,
	MACHINE_POOL /* a session that waits in a pool */
};

/* Checks that machines of the kind `kind` have every field that is set. Otherwise fails with
 * ERR_INVALID, and the message names the field. */
int machine_check(const struct microagent_machine *machine, enum machine_kind kind,
		  struct error *err);

/* Puts fields of `machine` into the config of a request, for example memory_mib as memoryMiB. Puts
 * only the fields whose values have the same form in a config. A field that is not set is left out.
 * After a failure `config` may have some of the fields. */
int machine_put(json_t *config, const struct microagent_machine *machine, struct error *err);

/* Returns why a machine with these fields cannot be restored, for example "it publishes ports".
 * Returns NULL if no field prevents this. */
const char *machine_unsaved_reason(const struct microagent_machine *machine);

#endif
