/* SPDX-License-Identifier: MIT */
/* Inside this folder only: values that are refused although their field is not. */
#ifndef OCI_CONFIG_RULES_H
#define OCI_CONFIG_RULES_H

#include <jansson.h>

#include "base/error.h"

int oci_rules_check(const json_t *document, struct error *err);

#endif
