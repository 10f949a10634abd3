/* SPDX-License-Identifier: MIT */
/* The table that says how each field of a config.json is treated, and the checks by this table. */
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
/* The value is the name of a kernel in the cache. */
#define OCI_KERNEL_ANNOTATION "io.microagent.kernel"
/* The value "ignore" means that a mount that asks for shared or slave propagation is made without
 * this propagation. */
#define OCI_PROPAGATION_ANNOTATION "io.microagent.propagation"
/* The value says where a container's writes to its root go. "overlay": they stay in the machine.
 * "virtiofs", the default: they go to the container's root on the host. */
#define OCI_ROOTFS_ANNOTATION "io.microagent.rootfs"

enum oci_verdict {
	OCI_HONOURED, /* the field is honoured on the host */
	OCI_GUEST,    /* the field is honoured by the guest */
	OCI_REFUSED,
	OCI_IGNORED,
};

struct oci_field {
	/* The JSON path of the field, such as "mounts[].source", where [] stands for every item of
	 * the list. ".*" at the end stands for all fields below. */
	const char *path;
	enum oci_verdict verdict;
	bool warned; /* an ignored field gives a warning, since users may need its effect */
	/* A text that says how the field is honoured, or why it is not honoured. */
	const char *text;
	const char *next; /* for a refused field: a text that says what the user can do instead */
};

/* Returns the row at `index`; NULL after the last row. */
const struct oci_field *oci_field_at(size_t index);
/* Returns the row for a field such as "linux.resources.memory.limit" or "mounts[].source"; NULL if
 * there is none. */
const struct oci_field *oci_field_find(const char *path);

/*
 * Checks all fields of a config. ERR_UNSUPPORTED: a field that is refused is not empty, or the
 * version is not known; the error has the JSON path of the first such field, the reason and the
 * next step. A field is empty if its value is null, 0, false, "", or a list or object of such
 * values. Ignored fields are noted. Unknown fields are neither refused nor noted: the specification
 * says that they must be ignored. The document may have any shape that oci_load() accepts.
 */
int oci_fields_check(const json_t *document, const struct oci_notes *notes, struct error *err);
/* Checks the fields of a value that is not part of a config: a process (`path` is "process") or
 * resources (`path` is "linux.resources"). */
int oci_fields_check_below(const json_t *value, const char *path, const struct oci_notes *notes,
			   struct error *err);
/* Checks the values of a config that oci_config_decode() has decoded. ERR_UNSUPPORTED: a value is
 * refused although its field is honoured; the error has the JSON path of the first such value, the
 * reason and the next step. */
int oci_config_check(const struct oci_config *config, const struct oci_notes *notes,
		     struct error *err);
/* Checks the source of mounts[index]. `mode` is the mode of the source, from fstat().
 * ERR_UNSUPPORTED: the source is no directory, no regular file and no shared memory. */
int oci_mount_source_check(const struct oci_mount *mount, size_t index, mode_t mode,
			   struct error *err);

/* Prints the table for people: one line for each row, in columns. */
int oci_fields_print(struct buf *out, struct error *err);

#endif
