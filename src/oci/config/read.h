/* SPDX-License-Identifier: MIT */
/* Inside this folder only: how values of a config are read, and its sections. */
#ifndef OCI_CONFIG_READ_H
#define OCI_CONFIG_READ_H

#include "oci/config/config.h"

/* "<path>.<key>" and "<path>.<key>[i]"; path may be "". */
void oci_path(char where[OCI_PATH], const char *path, const char *key);
void oci_path_item(char where[OCI_PATH], const char *path, const char *key, size_t index);

/* object[key], a list of strings: a NULL-terminated array, which is the caller's. An absent list
 * is as an empty one. */
int oci_get_strings(const json_t *object, const char *path, const char *key, const char ***out,
		    struct error *err);
/* The same of paths, each of which must be absolute. */
int oci_get_absolutes(const json_t *object, const char *path, const char *key, const char ***out,
		      struct error *err);
/* object[key], an object whose values are strings; *out is left where there is none. */
int oci_get_map(const json_t *object, const char *path, const char *key, const json_t **out,
		struct error *err);
/* A required string that is an absolute path. */
int oci_get_absolute(const json_t *object, const char *path, const char *key, const char **out,
		     struct error *err);
/* Of a user or a group. */
#define OCI_ID_MOST (UINT32_MAX - 1) /* the one above is none to the kernel */
int oci_get_id(const json_t *object, const char *path, const char *key, uint32_t *out,
	       struct error *err);

/* Sections; out->... may be filled in part on failure: oci_config_decode() frees. */
int oci_mounts_decode(const json_t *document, struct oci_config *out, struct error *err);
int oci_linux_decode(const json_t *document, struct oci_config *out, struct error *err);
/* The rules of `devices` in the object linux.resources, which may be NULL. */
int oci_device_rules_decode(const json_t *resources, struct oci_config *out, struct error *err);
void oci_hooks_free(struct oci_config *config);

/* What a mount's option is about. */
enum oci_option_kind {
	OCI_OPTION_FLAG, /* sets or clears MS_* */
	OCI_OPTION_BIND,
	OCI_OPTION_PROPAGATION, /* private and unbindable */
	OCI_OPTION_SHARED,	/* shared and slave: not across the border of a machine */
	OCI_OPTION_COPY_UP,
	OCI_OPTION_RECURSIVE, /* attributes of a whole tree of mounts */
	OCI_OPTION_IDMAP,
	OCI_OPTION_DATA, /* the file system's own */
};
enum oci_option_kind oci_mount_option_kind(const char *option);
/* As its words say, links not looked at: absolute, a relative one being of the root, without "..";
 * malloc'd. */
char *oci_clean(const char *path, struct error *err);

#endif
