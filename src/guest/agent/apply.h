/* SPDX-License-Identifier: MIT */
/* Child processes for one piece of work that may block: a mount whose other side does not answer
 * must not hold up the agent. */
#ifndef GUEST_APPLY_H
#define GUEST_APPLY_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

struct apply;

/* Runs work(arg) in a child. done is called once, from the loop, with the error's text, or NULL on
 * success. */
struct apply *apply_start(struct loop *loop, int (*work)(json_t *arg, struct error *err),
			  json_t *arg, void (*done)(void *data, const char *error), void *data,
			  struct error *err);
/* Kills the child. Accepts NULL. To be called from done, or instead of waiting for done. */
void apply_free(struct apply *apply);

#endif
