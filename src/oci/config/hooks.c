/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "oci/config/read.h"

const char *const oci_hook_names[OCI_HOOK_KINDS] = {
	[OCI_PRESTART] = "prestart",
	[OCI_CREATE_RUNTIME] = "createRuntime",
	[OCI_CREATE_CONTAINER] = "createContainer",
	[OCI_START_CONTAINER] = "startContainer",
	[OCI_POSTSTART] = "poststart",
	[OCI_POSTSTOP] = "poststop",
};

static int decode_kind(const json_t *hooks, const char *kind, struct oci_hooks *out,
		       struct error *err)
{
	json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (json_get_array(hooks, "hooks", kind, JSON_OPTIONAL, &list, err) < 0)
		return -1;
	if (json_array_size(list) == 0)
		return 0;
	out->items = calloc(json_array_size(list), sizeof(*out->items));
	if (!out->items)
		return error_errno(err, ENOMEM, "hooks");
	json_array_foreach(list, i, item)
	{
		struct oci_hook *hook = &out->items[out->count++];
		int64_t timeout = 0;
		char where[OCI_PATH];

		oci_path_item(where, "hooks", kind, i);
		if (oci_get_absolute(item, where, "path", &hook->path, err) < 0 ||
		    oci_get_strings(item, where, "args", &hook->args, err) < 0 ||
		    oci_get_strings(item, where, "env", &hook->env, err) < 0 ||
		    json_get_int(item, where, "timeout", JSON_OPTIONAL, 1, INT_MAX, &timeout, err) <
			    0)
			return -1;
		hook->timeout = (unsigned)timeout;
	}
	return 0;
}

int oci_hooks_decode(const json_t *document, struct oci_config *out, struct error *err)
{
	json_t *hooks = NULL;

	if (json_get_object(document, "", "hooks", JSON_OPTIONAL, &hooks, err) < 0)
		return -1;
	for (int kind = 0; hooks && kind < OCI_HOOK_KINDS; kind++)
		if (decode_kind(hooks, oci_hook_names[kind], &out->hooks[kind], err) < 0)
			return -1;
	return 0;
}

void oci_hooks_free(struct oci_config *config)
{
	for (int kind = 0; kind < OCI_HOOK_KINDS; kind++) {
		struct oci_hooks *hooks = &config->hooks[kind];

		for (size_t i = 0; i < hooks->count; i++) {
			free(hooks->items[i].args);
			free(hooks->items[i].env);
		}
		free(hooks->items);
	}
}
