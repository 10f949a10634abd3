/* SPDX-License-Identifier: MIT */
/* Checks which fields of a struct microagent_machine each kind of machine has. */
#ifndef API_MACHINE_H
#define API_MACHINE_H

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

/* Returns why no restored machine can be like this machine, for example "it publishes ports"; NULL
 * if one can. */
const char *machine_unsaved_reason(const struct microagent_machine *machine);

#endif
