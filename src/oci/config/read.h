/* SPDX-License-Identifier: MIT */
/* For this folder only: functions that read values of a config, and functions that decode its
 * sections. */
#ifndef OCI_CONFIG_READ_H
#define OCI_CONFIG_READ_H

#include "oci/config/config.h"

/* Write "<path>.<key>" and "<path>.<key>[i]" to where; path may be "". */
void oci_path(char where[OCI_PATH], const char *path, const char *key);
void oci_path_item(char where[OCI_PATH], const char *path, const char *key, size_t index);

/* Reads object[key], a list of strings, as an array that ends with NULL. The caller frees the
 * array. An absent list counts as empty. */
int oci_get_strings(const json_t *object, const char *path, const char *key, const char ***out,
		    struct error *err);
/* Reads a list of paths, each of which must be absolute. The caller frees the array, which ends
 * with NULL. */
int oci_get_absolutes(const json_t *object, const char *path, const char *key, const char ***out,
		      struct error *err);
/* Reads object[key], an object whose values are strings. Leaves *out unchanged if there is none. */
int oci_get_map(const json_t *object, const char *path, const char *key, const json_t **out,
		struct error *err);
/* Reads a required string that is an absolute path. */
int oci_get_absolute(const json_t *object, const char *path, const char *key, const char **out,
		     struct error *err);
/* Reads the id of a user or a group, at most OCI_ID_MOST. */
#define OCI_ID_MOST (UINT32_MAX - 1) /* UINT32_MAX means no id to the kernel */
int oci_get_id(const json_t *object, const char *path, const char *key, uint32_t *out,
	       struct error *err);

/* Decode sections of the document. On failure *out may be partly filled: oci_config_decode() frees
 * it. */
int oci_mounts_decode(const json_t *document, struct oci_config *out, struct error *err);
int oci_linux_decode(const json_t *document, struct oci_config *out, struct error *err);
/* Decodes the rules in `devices` of the object linux.resources, which may be NULL. */
int oci_device_rules_decode(const json_t *resources, struct oci_config *out, struct error *err);
void oci_hooks_free(struct oci_config *config);

/* What an option of a mount is about. */
enum oci_option_kind {
	OCI_OPTION_FLAG, /* sets or clears MS_* */
	OCI_OPTION_BIND,
	OCI_OPTION_PROPAGATION, /* private and unbindable */
	OCI_OPTION_SHARED,	/* shared and slave; impossible across the border of a machine */
	OCI_OPTION_COPY_UP,
	OCI_OPTION_RECURSIVE, /* attributes of a whole tree of mounts */
	OCI_OPTION_IDMAP,
	OCI_OPTION_DATA, /* an option of the file system itself */
};
enum oci_option_kind oci_mount_option_kind(const char *option);
/* Cleans a path without looking at links. The result is absolute and has no "..". A relative path
 * is taken from the root. The caller frees the result. */
char *oci_clean(const char *path, struct error *err);

#endif
