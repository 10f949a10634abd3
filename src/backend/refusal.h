/* SPDX-License-Identifier: MIT */
#ifndef BACKEND_REFUSAL_H
#define BACKEND_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "contract/request.h"

#define REFUSAL_PATH 64

/* Stands in the place of `asks`: a config asks for the thing by having the field. */
#define ASKS_BY_FIELD NULL

/* A row that names something which a config can ask for, and which a backend cannot give on any
 * host. The contract lists the rows. */
struct backend_refusal {
	const char *field;	/* path of the field in the config: "limits.netBytesPerSecond" */
	const char *limitation; /* one sentence: what the VMM, or its systems, cannot do */
	/* Returns whether the config asks for it. path holds the field, and the function may make
	 * path more exact. */
	bool (*asks)(const struct config *config, char path[REFUSAL_PATH]);
};

#endif
