/* SPDX-License-Identifier: MIT */
/* Handles a config as a whole: makes its canonical form, reads its record, and compares two
 * configs. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/config_fields.h"
#include "contract/decode.h"

const char *const accelerator_names[ACCELERATOR_COUNT] = {
	[ACCELERATOR_AUTO] = "auto",
	[ACCELERATOR_KVM] = "kvm",
	[ACCELERATOR_TCG] = "tcg",
	[ACCELERATOR_PLATFORM] = "platform",
};
static_assert(ACCELERATOR_COUNT == 4, "a name for every accelerator");
const char *const confinement_names[2] = {
	[CONFINEMENT_CELL] = "cell",
	[CONFINEMENT_SECCOMP] = "seccomp",
};
static_assert(CONFINEMENT_SECCOMP == 1, "a name for every confinement");
const char *const network_mode_names[3] = {
	[NETWORK_NAT] = "nat",
	[NETWORK_ISOLATED] = "isolated",
	[NETWORK_BRIDGED] = "bridged",
};
static_assert(NETWORK_BRIDGED == 2, "a name for every mode");

int config_normalise(const json_t *in, bool strict, const struct host_bounds *bounds, json_t **out,
		     struct error *err)
{
	json_auto_t *canonical = json_object();
	json_auto_t *mountpoints = json_object();
	struct config_decode d = {in, canonical, strict, bounds, mountpoints};

	if (!canonical || !mountpoints)
		return error_errno(err, ENOMEM, "config");
	if (!json_is_object(in))
		return error_set(err, ERR_INVALID, "config must be an object");
	if (strict && config_known_keys(in, err) < 0)
		return -1;
	for (const struct config_field *field = config_fields; field->key; field++)
		if (config_field_decode(field, &d, err) < 0)
			return -1;
	*out = steal_ptr(&canonical);
	return 0;
}

int config_from_record(json_t *json, struct config *out, struct error *err)
{
	json_t *normalised = NULL;

	if (config_normalise(json, false, NULL, &normalised, err) < 0)
		return -1;
	config_bind(normalised, out);
	return 0;
}

void config_free(struct config *config)
{
	json_decref(config->normalised);
	*config = (struct config){0};
}

/* Returns a copy of the canonical config without the fields that each request sets: stateDir and
 * confinement. The text of stateDir may differ from the text in the record, although both lead to
 * the directory in which the record was found. confinement is chosen by each start. */
static json_t *comparable(const struct config *config)
{
	json_t *copy = json_copy(config->normalised);

	for (const struct config_field *field = config_fields; field->key; field++)
		if (field->said_anew)
			json_object_del(copy, field->key);
	return copy;
}

int config_compare(const struct config *given, const struct config *recorded, struct error *err)
{
	json_auto_t *a = comparable(given);
	json_auto_t *b = comparable(recorded);
	char path[256] = "";

	if (!a || !b)
		return error_errno(err, ENOMEM, "config");
	if (!json_object_get(a, "cpuCount"))
		json_object_del(b, "cpuCount");
	if (!json_first_difference(a, b, path, sizeof(path)))
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"config.%s differs from the value with which the workspace was prepared: give that value, or prepare the workspace again",
		path);
}
