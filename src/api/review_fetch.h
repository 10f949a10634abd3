/* SPDX-License-Identifier: MIT */
#ifndef API_REVIEW_FETCH_H
#define API_REVIEW_FETCH_H

#include <jansson.h>

#include "microagent.h"
#include "store/store.h"

/* The names in a copy of a guest's layer. */
#define REVIEW_TREE "tree"
#define REVIEW_CLAIMS "claims"

/* Fetches the guest's layer of each reviewed directory in `bundles`, which is config.bundles of the
 * workspace. The copies replace earlier ones. If the workspace does not run, a machine is booted
 * that reads its disk. `options` limits the copy and shows its progress; NULL: no limit. */
int review_fetch(struct microagent *agent, const struct workspace *ws, const json_t *bundles,
		 const struct microagent_copy *options, struct error *err);

#endif
