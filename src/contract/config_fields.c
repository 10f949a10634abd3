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

#define MEMBER(name) offsetof(struct config, name)
#define TEXT(member) .kind = CONFIG_TEXT, .offset = MEMBER(member)
#define NUMBER(member) .kind = CONFIG_NUMBER, .offset = MEMBER(member)
#define FLAG(member) .kind = CONFIG_FLAG, .offset = MEMBER(member)
#define CHOICE(member, names, count) \
	.kind = CONFIG_CHOICE, .offset = MEMBER(member), .words = names, .nwords = count
#define JSON(member) .kind = CONFIG_JSON, .offset = MEMBER(member)
#define OWN(function) .kind = CONFIG_OWN, .bind = function

const struct config_field config_fields[] = {
	{"macos", OWN(bind_macos), .decode = decode_macos},
	{"kernelPath", TEXT(kernel_path), .decode = decode_kernel_path, .host_file = true},
	{"rootfsPath", TEXT(rootfs_path), .decode = decode_rootfs_path, .host_file = true},
	{"rootfsBase", TEXT(rootfs_base), .decode = decode_rootfs_base, .host_file = true,
	 .sample = "\"/b\"", .saved = SAVED_WITH, .unsaved = "a disk that is not a layer",
	 .qemu_alone = "only QEMU reads disks that are layers"},
	{"stateDir", TEXT(state_dir), .decode = decode_state_dir, .said_anew = true},
	{"memoryMiB", NUMBER(memory_mib), .decode = decode_memory},
	{"cpuCount", NUMBER(cpu_count), .decode = decode_cpus},
	{"disks", JSON(disks), .decode = decode_disks,
	 .sample = "[{\"name\":\"d\",\"path\":\"/d\",\"mountpoint\":\"/d\",\"mode\":\"ro\"}]",
	 .saved = SAVED_WITHOUT, .unsaved = "a second disk"},
	{"vsockListeners", JSON(vsock_listeners), .decode = decode_vsock_listeners,
	 .sample = "[{\"port\":2048,\"target\":\"127.0.0.1:1\"}]", .saved = SAVED_WITHOUT,
	 .unsaved = "a listener of the host"},
	{"network", OWN(bind_network), .decode = decode_network},
	{"mediation", JSON(mediation), .decode = decode_mediation,
	 .sample = "{\"enabled\":true,\"required\":true,\"port\":2048,\"target\":\"127.0.0.1:1\","
		   "\"failClosed\":true}",
	 .saved = SAVED_WITHOUT, .unsaved = "mediation"},
	{"initrdPath", TEXT(initrd_path), .decode = decode_initrd, .host_file = true,
	 .sample = "\"/i\""},
	{"architecture", OWN(bind_architecture), .decode = decode_architecture,
	 .sample = "\"arm64\""},
	{"accelerator", CHOICE(accelerator, accelerator_names, ACCELERATOR_TCG + 1),
	 .has_default = true},
	{"hotplug", FLAG(hotplug), .sample = "true", .saved = SAVED_WITH,
	 .unsaved = "a machine without a spare port (config.hotplug)"},
	{"confinement", CHOICE(confinement, confinement_names, ARRAY_SIZE(confinement_names)),
	 .said_anew = true, .sample = "\"seccomp\""},
	{"console", .kind = CONFIG_GIVEN, .offset = MEMBER(console_shell), .decode = decode_console,
	 .sample = "\"shell\"", .saved = SAVED_WITHOUT, .unsaved = "a shell on its console"},
	{"limits", OWN(bind_limits), .decode = decode_limits},
	{"cgroup", TEXT(cgroup), .decode = decode_cgroup, .sample = "\"inherit\""},
	{"cgroupLimits", OWN(bind_cgroup_limits), .decode = decode_cgroup_limits,
	 .sample = "\"required\""},
	{"command", JSON(command), .decode = decode_command, .saved = SAVED_WITHOUT,
	 .unsaved = "a command of its own"},
	{"env", JSON(env), .decode = decode_env},
	{"user", TEXT(user), .check = check_user},
	{"cwd", TEXT(cwd), .check = check_cwd},
	{"hostname", TEXT(hostname), .check = check_hostname},
	{"timeoutSeconds", NUMBER(timeout_seconds), .most = TIMEOUT_SECONDS_MAX,
	 .has_default = true},
	{"shares", JSON(shares), .decode = decode_shares,
	 .sample = "[{\"tag\":\"t\",\"path\":\"@/d\",\"mountpoint\":\"/d\",\"mode\":\"ro\"}]",
	 .saved = SAVED_WITHOUT, .unsaved = "a shared directory"},
	{"bundles", JSON(bundles), .decode = decode_bundles,
	 .sample = "[{\"name\":\"b\",\"path\":\"/b\",\"mountpoint\":\"/b\"}]",
	 .saved = SAVED_PLUGGED, .unsaved = "a bundle"},
	{"outputs", JSON(outputs), .decode = decode_outputs,
	 .sample = "[{\"name\":\"o\",\"path\":\"/o\"}]"},
	{"image", JSON(image), .decode = decode_image},
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
		    (text && field->check && field->check(text, err) < 0))
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
