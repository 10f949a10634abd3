/* SPDX-License-Identifier: MIT */
#ifndef BACKEND_REFUSAL_H
#define BACKEND_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "contract/request.h"

#define REFUSAL_PATH 64

/* The value of `asks` for a field that asks for the thing by its mere presence in the config. */
#define ASKS_BY_FIELD NULL

/* One row of a table of refusals: something that a config can ask for, and that the backend cannot
 * do on any host. */
struct backend_refusal {
	/* Path of the field in the config, for example "limits.netBytesPerSecond". */
	const char *field;
	/* A sentence that names what the VMM or its host cannot do. */
	const char *limitation;
	/* Returns true if the config asks for the thing. At the call, `path` has a copy of `field`.
	 * The function may make `path` more exact, for example by the index of an entry. */
	bool (*asks)(const struct config *config, char path[REFUSAL_PATH]);
};

#endif
