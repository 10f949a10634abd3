/* SPDX-License-Identifier: MIT */
/* Which fields of a struct microagent_machine each kind of machine has. */
#ifndef API_MACHINE_H
#define API_MACHINE_H

#include "microagent.h"

/* A workspace has all of them. */
enum machine_kind {
	MACHINE_SESSION,
	MACHINE_BASE, /* that on which a base is provisioned */
	MACHINE_TEMPLATE,
	MACHINE_POOL /* a session that waits in one */
};

/* ERR_INVALID, naming the field, where one is set that machines of that kind do not have. */
int machine_check(const struct microagent_machine *machine, enum machine_kind kind,
		  struct error *err);

/* Why no machine that is restored can be like this one: "it publishes ports". NULL: one can. */
const char *machine_unsaved_reason(const struct microagent_machine *machine);

#endif
