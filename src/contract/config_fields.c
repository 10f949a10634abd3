/* SPDX-License-Identifier: MIT */
#include "contract/config_fields.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/decode.h"
#include "contract/fields.h"

/* The longest timeout that the guest's agent accepts: ten years. */
#define TIMEOUT_SECONDS_MAX (INT64_C(10) * 366 * 24 * 3600)

/* --- members of struct config that a row cannot fill by its kind -------------------------------- */

static int64_t number_in(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static unsigned config_choice(const json_t *name, const char *const *words, size_t count)
{
	const char *text = json_string_value(name);
	unsigned i = 0;

	while (text && i < count - 1 && strcmp(text, words[i]) != 0)
		i++;
	return i;
}

static void bind_macos(const json_t *macos, struct config *out)
{
	out->macos = (struct macos_paths){
		.hardware_model = json_text(macos, "hardwareModelPath", NULL),
		.auxiliary_storage = json_text(macos, "auxiliaryStoragePath", NULL),
		.machine_identifier = json_text(macos, "machineIdentifierPath", NULL)};
}

static void bind_network(const json_t *network, struct config *out)
{
	out->network_mode = config_choice(json_object_get(network, "mode"), network_mode_names,
					  ARRAY_SIZE(network_mode_names));
	out->network_interface = json_text(network, "interface", NULL);
	out->network_allow = json_object_get(network, "allow");
	out->network_egress = json_object_get(network, "egress");
	out->port_forwards = json_object_get(network, "portForwards");
}

static void bind_limits(const json_t *limits, struct config *out)
{
	out->limits = (struct machine_rates){.disk_bytes = number_in(limits, "diskBytesPerSecond"),
					     .disk_ops = number_in(limits, "diskOpsPerSecond"),
					     .net_bytes = number_in(limits, "netBytesPerSecond")};
}

static void bind_architecture(const json_t *name, struct config *out)
{
	out->architecture =
		name ? architecture_from_name(json_string_value(name)) : architecture_of_host();
}

/* Binds cgroupLimits, whose default depends on config.cgroup. So the row of cgroup must come before
 * the row of cgroupLimits. */
static void bind_cgroup_limits(const json_t *word, struct config *out)
{
	out->cgroup_limits_required = word ? strcmp(json_string_value(word), "required") == 0
					   : out->cgroup && *out->cgroup == '/';
}

/* --- the table ----------------------------------------------------------------------------------- */

#define CONFIG_FIELD(KIND, member, name, ...)       \
	{.key = name,                               \
	 .kind = CONFIG_##KIND,                     \
	 .offset = offsetof(struct config, member), \
	 __VA_ARGS__},
#define OWN_FIELD(name, ...) {.key = name, .kind = CONFIG_OWN, __VA_ARGS__},
const struct config_field config_fields[] = {
#include "contract/config_fields.def"
	{0},
};

/* --- the functions that use the table ----------------------------------------------------------- */

int config_known_keys(const json_t *in, struct error *err)
{
	const char *keys[ARRAY_SIZE(config_fields)];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		keys[i] = config_fields[i].key;
	return json_only_keys(in, "config", keys, err);
}

static int check_given_text(const struct config_field *field, const char *text, struct error *err)
{
	if (field->longest && strlen(text) > field->longest)
		return error_set(err, ERR_INVALID,
				 "config.%s must be at most %zu bytes long, and has %zu",
				 field->key, field->longest, strlen(text));
	return field->check ? field->check(text, err) : 0;
}

int config_field_decode(const struct config_field *field, struct config_decode *d,
			struct error *err)
{
	const char *text = NULL;
	bool flag = false;
	int64_t number = 0;
	size_t choice = 0;

	if (field->decode)
		return field->decode(d, err);
	switch (field->kind) {
	case CONFIG_TEXT:
		if (decode_text(d->in, "config", field->key, JSON_OPTIONAL, &text, err) < 0 ||
		    (text && check_given_text(field, text, err) < 0))
			return -1;
		return text ? json_put_string(d->out, field->key, text, err) : 0;
	case CONFIG_NUMBER:
		if (json_get_int(d->in, "config", field->key, JSON_OPTIONAL, 0, field->most,
				 &number, err) < 0)
			return -1;
		return number || field->has_default
			       ? json_put(d->out, field->key, json_integer(number), err)
			       : 0;
	case CONFIG_FLAG:
		if (json_get_bool(d->in, "config", field->key, JSON_OPTIONAL, &flag, err) < 0)
			return -1;
		return flag ? json_put(d->out, field->key, json_true(), err) : 0;
	case CONFIG_CHOICE:
		if (decode_choice(d->in, "config", field->key, JSON_OPTIONAL, field->words,
				  field->nwords, &choice, err) < 0)
			return -1;
		return choice || field->has_default
			       ? json_put_string(d->out, field->key, field->words[choice], err)
			       : 0;
	case CONFIG_GIVEN:
	case CONFIG_JSON:
	case CONFIG_OWN:
		break;
	}
	return error_set(err, ERR_INTERNAL, "config.%s cannot be read: this is a bug of microagent",
			 field->key);
}

/* Fills the members without checking the values. A canonical document was checked when it was made,
 * so each field in it has the right type. */
void config_bind(json_t *normalised, struct config *out)
{
	*out = (struct config){.normalised = normalised};
	for (const struct config_field *field = config_fields; field->key; field++) {
		json_t *value = json_object_get(normalised, field->key);
		void *member = (char *)out + field->offset;

		switch (field->kind) {
		case CONFIG_TEXT:
			*(const char **)member = json_string_value(value);
			break;
		case CONFIG_NUMBER:
			*(int64_t *)member = json_integer_value(value);
			break;
		case CONFIG_FLAG:
			*(bool *)member = json_is_true(value);
			break;
		case CONFIG_GIVEN:
			*(bool *)member = value != NULL;
			break;
		case CONFIG_CHOICE:
			*(unsigned *)member = config_choice(value, field->words, field->nwords);
			break;
		case CONFIG_JSON:
			*(const json_t **)member = value;
			break;
		case CONFIG_OWN:
			field->bind(value, out);
			break;
		}
	}
}

const char *config_saving_obstacle(const json_t *config, bool restored)
{
	const json_t *network = json_object_get(config, "network");
	const json_t *limits = json_object_get(config, "limits");
	const char *mode = json_text(network, "mode", "");

	if (strcmp(mode, network_mode_names[NETWORK_ISOLATED]) != 0 &&
	    (!restored || strcmp(mode, network_mode_names[NETWORK_NAT]) != 0))
		return restored ? "a card on a bridge" : "a network card";
	if (json_array_size(json_object_get(network, "portForwards")) > 0)
		return "a published port";
	if (number_in(limits, "diskBytesPerSecond") || number_in(limits, "diskOpsPerSecond"))
		return "a rate limit of its disks";
	for (const struct config_field *field = config_fields; field->key; field++) {
		const json_t *value = json_object_get(config, field->key);
		bool given = value != NULL;

		if (field->saved == SAVED_PLUGGED && restored) {
			if (json_array_size(value) > PLUGS_MAX)
				return "more bundles than a running machine can get";
			continue;
		}
		if (field->saved != SAVED_EITHER && given == (field->saved != SAVED_WITH))
			return field->unsaved;
	}
	return NULL;
}
