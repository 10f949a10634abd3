/* SPDX-License-Identifier: MIT */
/* microagent-artifact at work for us, which may take minutes. */
#ifndef CHANNEL_ARTIFACT_RUN_H
#define CHANNEL_ARTIFACT_RUN_H

#include <jansson.h>

#include "base/error.h"

struct artifact_wait {
	int cancel;		  /* when readable it is ended; 0 or less: never */
	void (*tick)(void *data); /* about five times a second, or NULL */
	void *data;
};

#define ARTIFACT_RUN_WORDS 12
/* words: a command and its own, at most that many, "--json" not among them; NULL at the end. Its
 * answer is a new reference, or NULL for who does not want it. On failure its own error, as far as
 * it gave one; ERR_UNAVAILABLE for what was cancelled, which has left nothing. */
int artifact_run(const char *const *words, const struct artifact_wait *wait, json_t **answer,
		 struct error *err);

#endif
