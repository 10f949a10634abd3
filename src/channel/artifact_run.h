/* SPDX-License-Identifier: MIT */
/* Runs microagent-artifact, which may take minutes. */
#ifndef CHANNEL_ARTIFACT_RUN_H
#define CHANNEL_ARTIFACT_RUN_H

#include <jansson.h>

#include "base/error.h"

struct artifact_wait {
	int cancel;		  /* when readable, the program is ended; 0 or less: never */
	void (*tick)(void *data); /* called about five times a second, or NULL */
	void *data;
};

#define ARTIFACT_RUN_WORDS 12
/* Runs a command of microagent-artifact. words: the command and its arguments, at most
 * ARTIFACT_RUN_WORDS, without "--json"; NULL at the end. *answer becomes a new reference; answer
 * may be NULL. On failure the error is the program's own, as far as it gave one; ERR_UNAVAILABLE if
 * it was cancelled, and has left nothing. */
int artifact_run(const char *const *words, const struct artifact_wait *wait, json_t **answer,
		 struct error *err);

#endif
