/* SPDX-License-Identifier: MIT */
/* What becomes of each field of a config.json: the table, and the refusals that follow from it. */
#ifndef OCI_CONFIG_FIELDS_H
#define OCI_CONFIG_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "oci/config/config.h"

#define OCI_ANNOTATIONS "io.microagent."
#define OCI_MEMORY_ANNOTATION "io.microagent.memory-mib"
#define OCI_CPUS_ANNOTATION "io.microagent.cpus"
#define OCI_KERNEL_ANNOTATION "io.microagent.kernel" /* a name in the cache */
/* "ignore": mounts that ask for shared or slave propagation are made without it. */
#define OCI_PROPAGATION_ANNOTATION "io.microagent.propagation"
/* "overlay": what a container writes to its root stays in the machine; "virtiofs": as without. */
#define OCI_ROOTFS_ANNOTATION "io.microagent.rootfs"

enum oci_verdict {
	OCI_HONOURED, /* on the host */
	OCI_GUEST,    /* enforced in the guest */
	OCI_REFUSED,
	OCI_IGNORED,
};

struct oci_field {
	/* "mounts[].source", its list's items meant too; with ".*" all that is below */
	const char *path;
	enum oci_verdict verdict;
	bool warned;	  /* one that is ignored: a person may miss it */
	const char *text; /* how it is honoured; or the reason */
	const char *next; /* of a refusal: what to do */
};

/* The row at index; NULL behind the last. */
const struct oci_field *oci_field_at(size_t index);
/* The row that knows "linux.resources.memory.limit" or "mounts[].source"; NULL if none does. */
const struct oci_field *oci_field_find(const char *path);

/*
 * ERR_UNSUPPORTED, with the JSON path, the reason and the next step, for the first field of the
 * config that is refused and is not empty (null, 0, false, "", and lists and objects of such), and
 * for a version that is not known. What is ignored is noted. Unknown fields are neither: the
 * specification wants them ignored. Fit for a document of any shape that oci_load() made.
 */
int oci_fields_check(const json_t *document, const struct oci_notes *notes, struct error *err);
/* The same of one that stands alone: a process ("process") or resources ("linux.resources"). */
int oci_fields_check_below(const json_t *value, const char *path, const struct oci_notes *notes,
			   struct error *err);
/* ERR_UNSUPPORTED likewise for the first value that is refused although its field is not. Judges
 * what oci_config_decode() has made of the document. */
int oci_config_check(const struct oci_config *config, const struct oci_notes *notes,
		     struct error *err);
/* What only a look at the file tells: mode is that of the source of mounts[index], as fstat() has
 * it. ERR_UNSUPPORTED for a device and for a socket. */
int oci_mount_source_check(const struct oci_mount *mount, size_t index, mode_t mode,
			   struct error *err);

/* For people: each row as a line, in columns. */
int oci_fields_print(struct buf *out, struct error *err);

#endif
