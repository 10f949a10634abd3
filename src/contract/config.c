/* SPDX-License-Identifier: MIT */
/* A config as a whole: the order of its sections, its canonical form, and the struct made of it. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
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

static const char *const config_keys[] = {
	"kernelPath",  "initrdPath", "rootfsPath",     "rootfsBase",   "stateDir",
	"memoryMiB",   "cpuCount",   "command",	       "env",	       "user",
	"hostname",    "disks",	     "timeoutSeconds", "network",      "vsockListeners",
	"accelerator", "shares",     "bundles",	       "mediation",    "outputs",
	"image",       "cgroup",     "cgroupLimits",   "hotplug",      "cwd",
	"confinement", "limits",     "console",	       "architecture", "macos",
	NULL};

/* The first error in this order is the one that is told. */
static int (*const sections[])(struct config_decode *d, struct error *err) = {
	decode_required_paths, decode_sizes,	 decode_disks,	 decode_vsock_listeners,
	decode_network,	       decode_mediation, decode_machine, decode_workload,
	decode_shares,	       decode_bundles,	 decode_outputs, decode_image,
};

int config_known_keys(const json_t *in, struct error *err)
{
	return json_only_keys(in, "config", config_keys, err);
}

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
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (sections[i](&d, err) < 0)
			return -1;
	*out = steal_ptr(&canonical);
	return 0;
}

static int64_t config_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static unsigned index_of(const char *name, const char *const *names, unsigned count)
{
	unsigned i = 0;

	while (i < count - 1 && strcmp(names[i], name) != 0)
		i++;
	return i;
}

static enum architecture bound_architecture(const char *name)
{
	return name ? architecture_from_name(name) : architecture_of_host();
}

/* The canonical document has been checked: what must be there is there and of its type. */
void config_bind(json_t *normalised, struct config *out)
{
	const json_t *n = normalised;
	const json_t *network = json_object_get(n, "network");
	const json_t *limits = json_object_get(n, "limits");
	const json_t *macos = json_object_get(n, "macos");
	const char *group = json_text(n, "cgroup", "");

	*out = (struct config){
		.kernel_path = json_text(n, "kernelPath", NULL),
		.initrd_path = json_text(n, "initrdPath", NULL),
		.rootfs_path = json_text(n, "rootfsPath", NULL),
		.rootfs_base = json_text(n, "rootfsBase", NULL),
		.macos = {.hardware_model = json_text(macos, "hardwareModelPath", NULL),
			  .auxiliary_storage = json_text(macos, "auxiliaryStoragePath", NULL),
			  .machine_identifier = json_text(macos, "machineIdentifierPath", NULL)},
		.state_dir = json_text(n, "stateDir", NULL),
		.memory_mib = config_number(n, "memoryMiB"),
		.cpu_count = config_number(n, "cpuCount"),
		.architecture = bound_architecture(json_text(n, "architecture", NULL)),
		.accelerator = index_of(json_text(n, "accelerator", NULL), accelerator_names, 3),
		.network_mode = index_of(json_text(network, "mode", NULL), network_mode_names, 3),
		.network_interface = json_text(network, "interface", NULL),
		.command = json_object_get(n, "command"),
		.env = json_object_get(n, "env"),
		.user = json_text(n, "user", NULL),
		.cwd = json_text(n, "cwd", NULL),
		.hostname = json_text(n, "hostname", NULL),
		.timeout_seconds = config_number(n, "timeoutSeconds"),
		.network_allow = json_object_get(network, "allow"),
		.network_egress = json_object_get(network, "egress"),
		.port_forwards = json_object_get(network, "portForwards"),
		.disks = json_object_get(n, "disks"),
		.vsock_listeners = json_object_get(n, "vsockListeners"),
		.mediation = json_object_get(n, "mediation"),
		.shares = json_object_get(n, "shares"),
		.bundles = json_object_get(n, "bundles"),
		.outputs = json_object_get(n, "outputs"),
		.image = json_object_get(n, "image"),
		.cgroup = json_text(n, "cgroup", NULL),
		.cgroup_limits_required = strcmp(json_text(n, "cgroupLimits",
							   *group == '/' ? "required" : "optional"),
						 "required") == 0,
		.confinement =
			json_object_get(n, "confinement") ? CONFINEMENT_SECCOMP : CONFINEMENT_CELL,
		.limits = {.disk_bytes = config_number(limits, "diskBytesPerSecond"),
			   .disk_ops = config_number(limits, "diskOpsPerSecond"),
			   .net_bytes = config_number(limits, "netBytesPerSecond")},
		.hotplug = json_is_true(json_object_get(n, "hotplug")),
		.console_shell = json_object_get(n, "console") != NULL,
		.normalised = normalised,
	};
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

/* stateDir is left out: the record was found in it, under whichever spelling. And confinement: what
 * a machine may do without is for each start to say. */
static json_t *comparable(const struct config *config)
{
	json_t *copy = json_copy(config->normalised);

	json_object_del(copy, "stateDir");
	json_object_del(copy, "confinement");
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
	return error_set(err, ERR_CONFLICT,
			 "config.%s differs from what prepare recorded; give the recorded value or "
			 "prepare again",
			 path);
}
