/* SPDX-License-Identifier: MIT */
/* Which of the user's machines has a port of this host. A port that is held and not listened on is
 * shown by no program of the system's, so their records are asked. */
#ifndef CHANNEL_PUBLISH_HOLDER_H
#define CHANNEL_PUBLISH_HOLDER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "channel/publish.h"

struct publish_holder {
	char workspace[512];	      /* in words, with its state directory */
	char publishes[PUBLISH_NAME]; /* what keeps the port from others */
};
/* Looks at every machine of the user's that runs, whatever its state directory, but for the one
 * whose live supervisor asks. forward: what could not be published. false: none is known. */
bool publish_find_holder(const json_t *forward, struct publish_holder *out);

#endif
