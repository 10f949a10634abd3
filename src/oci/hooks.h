/* SPDX-License-Identifier: MIT */
#ifndef OCI_HOOKS_H
#define OCI_HOOKS_H

#include <jansson.h>

#include "base/error.h"
#include "oci/config/config.h"
#include "oci/oci.h"

/* Runs the hooks of that kind, in their order, on the host; each is given state on stdin. The first
 * that fails or lasts longer than its timeout is an error. */
int hooks_run(const struct oci_config *config, enum oci_hook_kind kind, const json_t *state,
	      struct error *err);
/* The same where a failure is a warning, and the next one is run: of hooks that the specification
 * has so. */
void hooks_try(const struct oci *oci, const struct oci_config *config, enum oci_hook_kind kind,
	       const json_t *state);

#endif
