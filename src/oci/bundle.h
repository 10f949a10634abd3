/* SPDX-License-Identifier: MIT */
#ifndef OCI_BUNDLE_H
#define OCI_BUNDLE_H

#include "base/error.h"
#include "oci/config/config.h"
#include "oci/oci.h"

/* <bundle>/config.json: *document, a reference, from which config borrows. Refused where a field of
 * it cannot be had; what is ignored is told in the log. */
int bundle_read(const struct oci *oci, const char *bundle, json_t **document,
		struct oci_config *config, struct error *err);
/* Reads a document that the caller names by its path, which may be a pipe's; "-": stdin. */
json_t *bundle_document(const char *path, struct error *err);
/* For the decoders: into the log. */
struct oci_notes bundle_notes(const struct oci *oci);

#endif
