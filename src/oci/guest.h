/* SPDX-License-Identifier: MIT */
#ifndef OCI_GUEST_H
#define OCI_GUEST_H

#include <jansson.h>

#include "base/error.h"
#include "oci/record.h"

/* Runs microagent-container (guest/container/control.c) with words in the container's machine. *out
 * is the document that it printed; with out NULL nothing is expected. Fails with ERR_CONFLICT,
 * "container not running". */
int guest_control(const struct record *record, const char *const *words, json_t **out,
		  struct error *err);

#endif
