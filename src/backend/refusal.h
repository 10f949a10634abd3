/* SPDX-License-Identifier: MIT */
#ifndef BACKEND_REFUSAL_H
#define BACKEND_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "contract/request.h"

#define REFUSAL_PATH 64

/* In the place of `asks`: a config asks for it by having the field. */
#define ASKS_BY_FIELD NULL

/* What a config can ask for and a backend has no way to give, on any host. The contract lists it.
 */
struct backend_refusal {
	const char *field;	/* its path in the config: "limits.netBytesPerSecond" */
	const char *limitation; /* of the VMM, or of the systems that it runs on: one sentence */
	/* Whether the config asks for it. path holds the field, and may be made more exact. */
	bool (*asks)(const struct config *config, char path[REFUSAL_PATH]);
};

#endif
