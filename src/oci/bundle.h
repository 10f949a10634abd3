/* SPDX-License-Identifier: MIT */
#ifndef OCI_BUNDLE_H
#define OCI_BUNDLE_H

#include "base/error.h"
#include "oci/config/config.h"
#include "oci/oci.h"

/* Reads <bundle>/config.json. The caller releases *document, after `config` is not used any more.
 * ERR_UNSUPPORTED: the config has a field that cannot be honoured. Logs the fields that are
 * ignored. */
int bundle_read(const struct oci *oci, const char *bundle, json_t **document,
		struct oci_config *config, struct error *err);
/* Reads a document from the file or pipe at `path`; "-" means stdin. The caller releases it. */
json_t *bundle_document(const char *path, struct error *err);
/* Returns a receiver of notes for the decoders of a config, which writes the notes to the log. */
struct oci_notes bundle_notes(const struct oci *oci);

#endif
