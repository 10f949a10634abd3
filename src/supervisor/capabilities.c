/* SPDX-License-Identifier: MIT */
#include "supervisor/capabilities.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "supervisor/refusals.h"

int capabilities_refuse(const struct backend *backend, const struct config *config,
			struct error *err)
{
	return refusals_check(backend->name, backend->refusals, config, err);
}

int capabilities_check(const struct backend *backend, const struct config *config,
		       struct error *err)
{
	return capabilities_refuse(backend, config, err) < 0 ? -1 : backend->check(config, err);
}

/* Adds the features that no field of a config asks for. The backend offers such a feature if it has
 * a certain function or flag. */
static int add_functions(const struct backend *backend, json_t *features, struct error *err)
{
	const struct {
		bool there;
		const char *name;
	} rows[] = {
		{backend_has_power_button(backend, architecture_of_host()), "powerButton"},
		{backend->pauses_on_full_disk, "pauseOnFullDisk"},
		{backend->balloon != NULL, "balloon"},
		{backend->save != NULL, "save"},
		{backend->linked == NULL, "halfClose"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].there && json_array_append_new(features, json_string(rows[i].name)) < 0)
			return error_errno(err, ENOMEM, "capabilities");
	return 0;
}

json_t *capabilities_json(const struct backend *backend, const bool built[COMMAND_COUNT],
			  struct error *err)
{
	json_auto_t *document = refusals_capabilities(backend->name, backend->refusals, built, err);

	if (!document || add_functions(backend, json_object_get(document, "features"), err) < 0)
		return NULL;
	return steal_ptr(&document);
}
