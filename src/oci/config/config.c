/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "oci/config/read.h"

/* Reads the name in document[key]. Leaves *out unchanged if the name is "", which engines write if
 * a container has no name. */
static int get_name(const json_t *document, const char *key, const char **out, struct error *err)
{
	const char *text = "";

	if (json_get_string(document, "", key, JSON_OPTIONAL, &text, err) < 0)
		return -1;
	if (strlen(text) > HOST_NAME_MAX)
		return error_set(err, ERR_INVALID, "%s must be at most %d bytes long", key,
				 HOST_NAME_MAX);
	if (*text)
		*out = text;
	return 0;
}

static int decode_sections(const json_t *document, const struct oci_notes *notes,
			   struct oci_config *out, struct error *err)
{
	json_t *root = NULL, *process = NULL;

	if (json_get_string(document, "", "ociVersion", JSON_REQUIRED, &out->version, err) < 0 ||
	    json_get_object(document, "", "root", JSON_REQUIRED, &root, err) < 0 ||
	    json_get_string(root, "root", "path", JSON_REQUIRED, &out->root_path, err) < 0 ||
	    json_get_bool(root, "root", "readonly", JSON_OPTIONAL, &out->root_readonly, err) < 0)
		return -1;
	if (!*out->root_path)
		return error_set(
			err, ERR_INVALID,
			"root.path must not be empty: name the directory of the root file system");
	if (get_name(document, "hostname", &out->hostname, err) < 0 ||
	    get_name(document, "domainname", &out->domainname, err) < 0 ||
	    json_get_object(document, "", "process", JSON_REQUIRED, &process, err) < 0 ||
	    oci_process_decode(process, "process", notes, &out->process, err) < 0 ||
	    oci_mounts_decode(document, out, err) < 0 || oci_linux_decode(document, out, err) < 0 ||
	    oci_hooks_decode(document, out, err) < 0)
		return -1;
	return oci_get_map(document, "", "annotations", &out->annotations, err);
}

int oci_config_decode(const json_t *document, const struct oci_notes *notes, struct oci_config *out,
		      struct error *err)
{
	struct oci_config made = {0};

	if (decode_sections(document, notes, &made, err) < 0) {
		oci_config_free(&made);
		return -1;
	}
	*out = made;
	return 0;
}

void oci_config_free(struct oci_config *config)
{
	oci_process_free(&config->process);
	for (size_t i = 0; i < config->nmounts; i++) {
		free(config->mounts[i].data);
		free(config->mounts[i].options);
	}
	free(config->mounts);
	free(config->namespaces);
	free(config->masked_paths);
	free(config->readonly_paths);
	free(config->device_rules);
	free(config->devices);
	oci_hooks_free(config);
	*config = (struct oci_config){0};
}

const struct oci_namespace *oci_config_namespace(const struct oci_config *config,
						 enum oci_namespace_type type)
{
	for (size_t i = 0; i < config->nnamespaces; i++)
		if (config->namespaces[i].type == type)
			return &config->namespaces[i];
	return NULL;
}

const char *oci_config_annotation(const struct oci_config *config, const char *name)
{
	return json_string_value(json_object_get(config->annotations, name));
}
