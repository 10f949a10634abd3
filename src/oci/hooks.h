/* SPDX-License-Identifier: MIT */
#ifndef OCI_HOOKS_H
#define OCI_HOOKS_H

#include <jansson.h>

#include "base/error.h"
#include "oci/config/config.h"
#include "oci/oci.h"

/* Runs the hooks of this kind on the host, in their order. Each hook gets `state` on its stdin. If
 * a hook fails or takes longer than its timeout, the function returns -1 and does not run the later
 * hooks. */
int hooks_run(const struct oci_config *config, enum oci_hook_kind kind, const json_t *state,
	      struct error *err);
/* Runs the hooks of a kind whose failure is only a warning by the specification. If a hook fails,
 * logs the warning and runs the next hook. */
void hooks_try(const struct oci *oci, const struct oci_config *config, enum oci_hook_kind kind,
	       const json_t *state);

#endif
