/* SPDX-License-Identifier: MIT */
/* Functions that read values of a config, and functions that decode its sections. Only files of
 * this folder use them. */
#ifndef OCI_CONFIG_READ_H
#define OCI_CONFIG_READ_H

#include "oci/config/config.h"

/* Functions that write "<path>.<key>" and "<path>.<key>[index]" to `where`; `path` may be "". */
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
/* Reads object[key], an object whose values are strings. Leaves *out unchanged if object[key] is
 * absent. */
int oci_get_map(const json_t *object, const char *path, const char *key, const json_t **out,
		struct error *err);
/* Reads a required string that is an absolute path. */
int oci_get_absolute(const json_t *object, const char *path, const char *key, const char **out,
		     struct error *err);
/* Reads the id of a user or a group, at most OCI_ID_MOST. */
#define OCI_ID_MOST (UINT32_MAX - 1) /* for the kernel UINT32_MAX means that there is no id */
int oci_get_id(const json_t *object, const char *path, const char *key, uint32_t *out,
	       struct error *err);

/* Functions that decode sections of the document. After an error *out may be partly filled, and
 * oci_config_decode() frees it. */
int oci_mounts_decode(const json_t *document, struct oci_config *out, struct error *err);
int oci_linux_decode(const json_t *document, struct oci_config *out, struct error *err);
/* Decodes the rules in `devices` of the object linux.resources, which may be NULL. */
int oci_device_rules_decode(const json_t *resources, struct oci_config *out, struct error *err);
void oci_hooks_free(struct oci_config *config);

/* The kinds of options of a mount. */
enum oci_option_kind {
	OCI_OPTION_FLAG, /* sets or clears MS_* */
	OCI_OPTION_BIND,
	OCI_OPTION_PROPAGATION, /* the options private and unbindable */
	/* The options shared and slave, which are impossible between a host and a guest. */
	OCI_OPTION_SHARED,
	OCI_OPTION_COPY_UP,
	OCI_OPTION_RECURSIVE, /* an option that sets attributes of a whole tree of mounts */
	OCI_OPTION_IDMAP,
	OCI_OPTION_DATA, /* an option of the file system itself */
};
enum oci_option_kind oci_mount_option_kind(const char *option);
/* Returns the path in absolute form without ".", ".." and double slashes. Does not look at links. A
 * relative path starts at the root. The caller frees the result. */
char *oci_clean(const char *path, struct error *err);

#endif
