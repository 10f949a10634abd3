/* SPDX-License-Identifier: MIT */
#ifndef OCI_BUNDLE_H
#define OCI_BUNDLE_H

#include "base/error.h"
#include "oci/config/config.h"
#include "oci/oci.h"

/* Reads <bundle>/config.json and decodes it into `config`. The strings in `config` belong to
 * *document, so the caller releases *document after the last use of `config`. ERR_UNSUPPORTED: the
 * config has a field that this program refuses. Logs the fields that are ignored. */
int bundle_read(const struct oci *oci, const char *bundle, json_t **document,
		struct oci_config *config, struct error *err);
/* Reads a JSON document from the file or pipe at `path`; "-" means stdin. The caller releases the
 * result. Returns NULL with an error. */
json_t *bundle_document(const char *path, struct error *err);
/* Returns an object that receives the notes of the decoders of a config. It writes each note to the
 * log. */
struct oci_notes bundle_notes(const struct oci *oci);

#endif
