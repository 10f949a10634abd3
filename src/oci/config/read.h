/* SPDX-License-Identifier: MIT */
/* Functions that read values of a config and decode its sections. Only the files of this folder use
 * them. */
#ifndef OCI_CONFIG_READ_H
#define OCI_CONFIG_READ_H

#include "oci/config/config.h"

/* Write the JSON path "<path>.<key>" or "<path>.<key>[index]" to `where`. If `path` is "", the
 * result has no dot. */
void oci_path(char where[OCI_PATH], const char *path, const char *key);
void oci_path_item(char where[OCI_PATH], const char *path, const char *key, size_t index);

/* Reads object[key], a list of strings, as an array that ends with NULL. The caller frees the
 * array. If the list is absent, the array is empty. */
int oci_get_strings(const json_t *object, const char *path, const char *key, const char ***out,
		    struct error *err);
/* Reads object[key], a list of absolute paths, as an array that ends with NULL. Refuses a relative
 * path. The caller frees the array. */
int oci_get_absolutes(const json_t *object, const char *path, const char *key, const char ***out,
		      struct error *err);
/* Reads object[key], an object whose values are strings. Leaves *out unchanged if object[key] is
 * absent. */
int oci_get_map(const json_t *object, const char *path, const char *key, const json_t **out,
		struct error *err);
/* Reads object[key], a string that must be present and be an absolute path. */
int oci_get_absolute(const json_t *object, const char *path, const char *key, const char **out,
		     struct error *err);
/* Reads object[key], the id of a user or a group, from 0 to OCI_ID_MOST. */
#define OCI_ID_MOST (UINT32_MAX - 1) /* the kernel uses UINT32_MAX for "no id" */
int oci_get_id(const json_t *object, const char *path, const char *key, uint32_t *out,
	       struct error *err);

/* Decode sections of the document into *out. After an error *out may be partly filled;
 * oci_config_decode() then frees it. */
int oci_mounts_decode(const json_t *document, struct oci_config *out, struct error *err);
int oci_linux_decode(const json_t *document, struct oci_config *out, struct error *err);
/* Decodes `devices`, the list of device rules in the object linux.resources. `resources` may be
 * NULL. */
int oci_device_rules_decode(const json_t *resources, struct oci_config *out, struct error *err);
void oci_hooks_free(struct oci_config *config);

/* The kinds of options of a mount. */
enum oci_option_kind {
	OCI_OPTION_FLAG, /* an option that sets or clears MS_* flags */
	OCI_OPTION_BIND,
	OCI_OPTION_PROPAGATION, /* the options private and unbindable */
	/* An option that asks for shared or slave propagation, which is impossible between a host
	 * and a guest. */
	OCI_OPTION_SHARED,
	OCI_OPTION_COPY_UP,
	OCI_OPTION_RECURSIVE, /* an option that sets attributes of a whole tree of mounts */
	OCI_OPTION_IDMAP,
	OCI_OPTION_DATA, /* an option for the file system itself */
};
enum oci_option_kind oci_mount_option_kind(const char *option);
/* Returns `path` as an absolute path without ".", ".." and double slashes. A relative path is taken
 * as relative to "/". The function does not resolve links. The caller frees the result. */
char *oci_clean(const char *path, struct error *err);

#endif
