/* SPDX-License-Identifier: MIT */
/* Runs microagent-artifact, which may take minutes. */
#ifndef CHANNEL_ARTIFACT_RUN_H
#define CHANNEL_ARTIFACT_RUN_H

#include <jansson.h>

#include "base/error.h"

struct artifact_wait {
	int cancel;		  /* when this descriptor is readable, the program is ended; 0 or
				   * less: no descriptor */
	void (*tick)(void *data); /* is called about five times a second; may be NULL */
	void *data;
};

#define ARTIFACT_RUN_WORDS 12
/* Runs a command of microagent-artifact. `words` is the command and its arguments without "--json",
 * at most ARTIFACT_RUN_WORDS words, NULL-terminated. *answer becomes the program's answer, a new
 * reference; `answer` may be NULL. If the program fails and has printed an error, *err is this
 * error. ERR_UNAVAILABLE if the program was cancelled; the program has then removed its unfinished
 * files. */
int artifact_run(const char *const *words, const struct artifact_wait *wait, json_t **answer,
		 struct error *err);

#endif
