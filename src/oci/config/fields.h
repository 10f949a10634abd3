/* SPDX-License-Identifier: MIT */
/* The table of all fields of a config.json, with the treatment of each field, and functions that
 * check documents by this table. */
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
/* The value of this annotation is the name of a kernel in the cache. */
#define OCI_KERNEL_ANNOTATION "io.microagent.kernel"
/* With the value "ignore", a mount that asks for shared or slave propagation is made without this
 * propagation. Otherwise the mount is refused. */
#define OCI_PROPAGATION_ANNOTATION "io.microagent.propagation"
/* The value tells where the writes of a container to its root go. "overlay": the writes stay in the
 * machine. "virtiofs" (the default): the writes go to the container's root on the host. */
#define OCI_ROOTFS_ANNOTATION "io.microagent.rootfs"

enum oci_verdict {
	OCI_HONOURED, /* the host applies the field */
	OCI_GUEST,    /* the guest applies the field */
	OCI_REFUSED,
	OCI_IGNORED,
};

struct oci_field {
	/* The JSON path of the field, such as "mounts[].source". [] stands for every item of a
	 * list. ".*" at the end of the path stands for all fields below it. */
	const char *path;
	enum oci_verdict verdict;
	/* true: if the field is ignored, a warning is given, since users may need its effect */
	bool warned;
	/* The text that tells users how the field is applied, or why it is not applied. */
	const char *text;
	const char *next; /* of a refused field: the text that tells users what to do instead */
};

/* Returns the row at `index`; NULL after the last row. */
const struct oci_field *oci_field_at(size_t index);
/* Returns the row for a field such as "linux.resources.memory.limit" or "mounts[].source"; NULL if
 * the table has no such row. */
const struct oci_field *oci_field_find(const char *path);

/*
 * Checks all fields of a config. ERR_UNSUPPORTED: a field that must be refused is not empty, or the
 * version is not known. The error then has the JSON path of the first such field, the reason and
 * the next step. A field is empty if its value is null, 0, false, "", or a list or object of empty
 * values. Each ignored field gives a note. An unknown field gives neither an error nor a note,
 * since the specification says that unknown fields must be ignored. The document may have any shape
 * that oci_load() accepts.
 */
int oci_fields_check(const json_t *document, const struct oci_notes *notes, struct error *err);
/* Checks the fields of a value that is not inside a whole config: a process (`path` is "process")
 * or resources (`path` is "linux.resources"). */
int oci_fields_check_below(const json_t *value, const char *path, const struct oci_notes *notes,
			   struct error *err);
/* Checks the values of a config that oci_config_decode() has decoded. ERR_UNSUPPORTED: a field may
 * be used, but not with this value. The error has the JSON path of the first such field, the reason
 * and the next step. */
int oci_config_check(const struct oci_config *config, const struct oci_notes *notes,
		     struct error *err);
/* Checks the source of mounts[index]. `mode` is the st_mode of the source, from fstat().
 * ERR_UNSUPPORTED: the source is neither a directory nor a regular file, and the mount is not
 * shared memory (is_shm). */
int oci_mount_source_check(const struct oci_mount *mount, size_t index, mode_t mode,
			   struct error *err);

/* Prints the table for people: one line for each row, in columns. */
int oci_fields_print(struct buf *out, struct error *err);

#endif
