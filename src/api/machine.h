/* SPDX-License-Identifier: MIT */
/* The fields of a struct microagent_machine: which kinds of machine have them, and what becomes of
 * them in the config of a request. */
#ifndef API_MACHINE_H
#define API_MACHINE_H

#include <jansson.h>

#include "microagent.h"

/* The kinds of machine that do not have all fields. A workspace has all of them. */
enum machine_kind {
	MACHINE_SESSION,
	MACHINE_BASE, /* the machine on which a base is provisioned */
	MACHINE_TEMPLATE,
	MACHINE_POOL /* a session that waits in a pool */
};

/* Checks the fields of a machine. ERR_INVALID: a field is set that machines of that kind do not
 * have, and the message names the field. */
int machine_check(const struct microagent_machine *machine, enum machine_kind kind,
		  struct error *err);

/* Puts the fields that a request's config has as they are, for example memory_mib as memoryMiB. A
 * field that is not set is left out. On failure config may have some of them. */
int machine_put(json_t *config, const struct microagent_machine *machine, struct error *err);

/* Returns why no restored machine can be like this machine, for example "it publishes ports"; NULL
 * if one can. */
const char *machine_unsaved_reason(const struct microagent_machine *machine);

#endif
