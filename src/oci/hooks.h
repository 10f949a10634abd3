/* SPDX-License-Identifier: MIT */
#ifndef OCI_HOOKS_H
#define OCI_HOOKS_H

#include <jansson.h>

#include "base/error.h"
#include "oci/config/config.h"
#include "oci/oci.h"

/* Runs the hooks of this kind on the host, in their order. Each hook gets the state on its stdin.
 * If a hook fails or takes longer than its timeout, the function fails and runs no later hook. */
int hooks_run(const struct oci_config *config, enum oci_hook_kind kind, const json_t *state,
	      struct error *err);
/* Runs the hooks of a kind for which the specification says that a failure is only a warning. After
 * a failure, logs the warning and runs the next hook. */
void hooks_try(const struct oci *oci, const struct oci_config *config, enum oci_hook_kind kind,
	       const json_t *state);

#endif
