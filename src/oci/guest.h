/* SPDX-License-Identifier: MIT */
#ifndef OCI_GUEST_H
#define OCI_GUEST_H

#include <jansson.h>

#include "base/error.h"
#include "oci/record.h"

/* Runs microagent-container (guest/container/control.c) in the container's machine, with `words` as
 * its arguments. Sets *out to the document that microagent-container prints; the caller releases
 * it. `out` is NULL for a command that prints no document. ERR_CONFLICT: the container does not
 * run. */
int guest_control(const struct record *record, const char *const *words, json_t **out,
		  struct error *err);

#endif
