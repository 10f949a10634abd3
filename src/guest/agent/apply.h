/* SPDX-License-Identifier: MIT */
/* Runs work that may block, such as a mount, in a child process. A mount blocks while its server
 * does not answer, and the agent must not be blocked. */
#ifndef GUEST_APPLY_H
#define GUEST_APPLY_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

struct apply;

/* Runs work(arg) in a child process. Calls done() once, from the event loop. The argument `error`
 * of done() is the text of the error, or NULL on success. */
struct apply *apply_start(struct loop *loop, int (*work)(json_t *arg, struct error *err),
			  json_t *arg, void (*done)(void *data, const char *error), void *data,
			  struct error *err);
/* Kills the child if it still runs, and frees *apply. Accepts NULL. Must be called either from
 * done() or before done() was called. */
void apply_free(struct apply *apply);

#endif
