/* SPDX-License-Identifier: MIT */
#ifndef BACKEND_REFUSAL_H
#define BACKEND_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "contract/request.h"

#define REFUSAL_PATH 64

/* The value of `asks` if a config asks for the thing just by having the field. */
#define ASKS_BY_FIELD NULL

/* A row about something that a config can ask for, and that a backend cannot do on any host. */
struct backend_refusal {
	const char *field; /* path of the field in the config: "limits.netBytesPerSecond" */
	/* A sentence that names the thing that the VMM, or its host, cannot do. */
	const char *limitation;
	/* Returns whether the config asks for the thing. `path` has the field, and the function may
	 * make it more exact, for example with the index of an entry. */
	bool (*asks)(const struct config *config, char path[REFUSAL_PATH]);
};

#endif
