/* SPDX-License-Identifier: MIT */
/* Decodes the fields of the machine itself: the files from which it boots, its size, its
 * architecture, its console, its cgroup and its rate limits. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/decode.h"

#define DEFAULT_MEMORY_MIB 512
#define DEFAULT_CPUS 2

static int put_int(json_t *out, const char *key, int64_t value, struct error *err)
{
	return json_put(out, key, json_integer(value), err);
}

/* Decodes the files of a macOS guest. A macOS guest boots from its disk. Its firmware keeps data in
 * the auxiliary storage. */
int decode_macos(struct config_decode *d, struct error *err)
{
	static const char *const keys[] = {"hardwareModelPath", "auxiliaryStoragePath",
					   "machineIdentifierPath", NULL};
	static const char *const linux_keys[] = {"kernelPath", "initrdPath", "rootfsBase"};
	json_auto_t *out = json_object();
	json_t *macos = NULL;

	if (json_get_object(d->in, "config", "macos", JSON_OPTIONAL, &macos, err) < 0)
		return -1;
	if (!macos)
		return 0;
	if (d->strict && json_only_keys(macos, "config.macos", keys, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(linux_keys); i++)
		if (json_object_get(d->in, linux_keys[i]))
			return error_set(
				err, ERR_INVALID,
				"config.%s is only for Linux guests: leave it out, or leave out config.macos",
				linux_keys[i]);
	for (size_t i = 0; keys[i]; i++) {
		const char *path = NULL;

		if (decode_text(macos, "config.macos", keys[i], JSON_REQUIRED, &path, err) < 0 ||
		    json_put_string(out, keys[i], path, err) < 0)
			return -1;
	}
	return json_put(d->out, "macos", json_incref(out), err);
}

static int decode_machine_path(struct config_decode *d, const char *key, enum json_need need,
			       struct error *err)
{
	const char *path = NULL;

	if (decode_text(d->in, "config", key, need, &path, err) < 0)
		return -1;
	return path ? json_put_string(d->out, key, path, err) : 0;
}

int decode_kernel_path(struct config_decode *d, struct error *err)
{
	return json_object_get(d->out, "macos")
		       ? 0
		       : decode_machine_path(d, "kernelPath", JSON_REQUIRED, err);
}

/* Decodes rootfsPath. The field is optional for a Linux guest with an initrd, because the initrd
 * can be the guest's root file system. */
int decode_rootfs_path(struct config_decode *d, struct error *err)
{
	bool ram_disk = !json_object_get(d->out, "macos") && *json_text(d->in, "initrdPath", "");

	return decode_machine_path(d, "rootfsPath", ram_disk ? JSON_OPTIONAL : JSON_REQUIRED, err);
}

int decode_rootfs_base(struct config_decode *d, struct error *err)
{
	if (decode_machine_path(d, "rootfsBase", JSON_OPTIONAL, err) < 0)
		return -1;
	if (json_object_get(d->out, "rootfsBase") && !json_object_get(d->out, "rootfsPath"))
		return error_set(
			err, ERR_INVALID,
			"config.rootfsBase needs config.rootfsPath, the layer over it: give both");
	return 0;
}

int decode_state_dir(struct config_decode *d, struct error *err)
{
	autofree char *state_dir = decode_absolute_of_host(d->in, "config", "stateDir", err);

	return state_dir ? json_put_string(d->out, "stateDir", state_dir, err) : -1;
}

/* Checks one size of the machine. `most` is the host's limit; 0: no limit applies. */
static int check_machine_size(const char *key, const char *unit, int64_t value, int64_t least,
			      int64_t most, struct error *err)
{
	if (value < least)
		return error_set(err, ERR_INVALID, "config.%s must be at least %lld%s, and is %lld",
				 key, (long long)least, unit, (long long)value);
	if (most > 0 && value > most)
		return error_set(
			err, ERR_INVALID,
			"config.%s is %lld%s, but this host has room for %lld%s: give less", key,
			(long long)value, unit, (long long)most, unit);
	if (value > INT32_MAX)
		return error_set(err, ERR_INVALID, "config.%s is too large: give less than %lld%s",
				 key, (long long)value, unit);
	return 0;
}

/* Decodes a size. The default is never more than the host has. So a host with one CPU can run a
 * guest whose config does not set the number of CPUs. */
static int decode_size(struct config_decode *d, const char *key, const char *unit, int64_t fallback,
		       int64_t least, int64_t most, struct error *err)
{
	int64_t value = most > 0 && most < fallback ? most : fallback;

	if (json_get_int(d->in, "config", key, JSON_OPTIONAL, INT64_MIN, INT64_MAX, &value, err) <
		    0 ||
	    check_machine_size(key, unit, value, least, most, err) < 0)
		return -1;
	return put_int(d->out, key, value, err);
}

int config_check_memory(int64_t mib, const struct host_bounds *bounds, struct error *err)
{
	return check_machine_size("memoryMiB", " MiB", mib,
				  (int64_t)limit_get(LIMIT_WORKSPACE_MEMORY_MIN_MIB),
				  bounds ? bounds->memory_mib : 0, err);
}

int config_check_cpus(int64_t cpus, const struct host_bounds *bounds, struct error *err)
{
	return check_machine_size("cpuCount", "", cpus, 1, bounds ? bounds->cpus : 0, err);
}

int decode_memory(struct config_decode *d, struct error *err)
{
	return decode_size(d, "memoryMiB", " MiB", DEFAULT_MEMORY_MIB,
			   (int64_t)limit_get(LIMIT_WORKSPACE_MEMORY_MIN_MIB),
			   d->bounds ? d->bounds->memory_mib : 0, err);
}

/* Decodes cpuCount. A request may leave out the field; config_settle_cpus() sets it later. For a
 * record without the field the default is used. */
int decode_cpus(struct config_decode *d, struct error *err)
{
	if (d->strict && !json_object_get(d->in, "cpuCount"))
		return 0;
	return decode_size(d, "cpuCount", "", DEFAULT_CPUS, 1, d->bounds ? d->bounds->cpus : 0,
			   err);
}

int config_settle_cpus(const struct config *config, enum accelerator accelerator,
		       const struct host_bounds *bounds, struct error *err)
{
	bool one = accelerator == ACCELERATOR_TCG || bounds->cpus < DEFAULT_CPUS;

	if (json_object_get(config->normalised, "cpuCount"))
		return 0;
	return put_int(config->normalised, "cpuCount", one ? 1 : DEFAULT_CPUS, err);
}

/* Decodes initrdPath. The default for a kernel file K is K.initrd. */
int decode_initrd(struct config_decode *d, struct error *err)
{
	const char *kernel = json_text(d->out, "kernelPath", NULL);
	const char *given = NULL;
	autofree char *beside = NULL;

	if (!kernel)
		return 0;
	if (decode_text(d->in, "config", "initrdPath", JSON_OPTIONAL, &given, err) < 0)
		return -1;
	if (given)
		return json_put_string(d->out, "initrdPath", given, err);
	if (asprintf(&beside, "%s.initrd", kernel) < 0) {
		beside = NULL;
		return error_errno(err, ENOMEM, "config.initrdPath");
	}
	return json_put_string(d->out, "initrdPath", beside, err);
}

/* Decodes architecture. The canonical form has the field only if it is not the architecture of the
 * host. */
int decode_architecture(struct config_decode *d, struct error *err)
{
	const char *names[ARCHITECTURE_COUNT];
	size_t found = architecture_of_host();

	for (size_t i = 0; i < ARCHITECTURE_COUNT; i++)
		names[i] = architecture_name((enum architecture)i);
	if (decode_choice(d->in, "config", "architecture", JSON_OPTIONAL, names, ARRAY_SIZE(names),
			  &found, err) < 0)
		return -1;
	return found == (size_t)architecture_of_host()
		       ? 0
		       : json_put_string(d->out, "architecture", names[found], err);
}

int decode_cgroup(struct config_decode *d, struct error *err)
{
	const char *given = NULL;
	autofree char *path = NULL;

	if (decode_not_empty(d->in, "config", "cgroup", err) < 0 ||
	    decode_text(d->in, "config", "cgroup", JSON_OPTIONAL, &given, err) < 0)
		return -1;
	if (!given)
		return 0;
	if (!strcmp(given, "inherit") || !strcmp(given, "systemd"))
		return json_put_string(d->out, "cgroup", given, err);
	if (*given != '/')
		return error_set(
			err, ERR_INVALID,
			"config.cgroup must be \"inherit\", \"systemd\" or the absolute path of a cgroup, and is \"%.200s\"",
			given);
	path = decode_absolute_of_host(d->in, "config", "cgroup", err);
	if (!path)
		return -1;
	return json_put_string(d->out, "cgroup", path, err);
}

/* Decodes cgroupLimits. By default, limits are required in a cgroup that config.cgroup names by its
 * path. In a cgroup that microagent has chosen itself, limits are used if they are available. The
 * canonical form has cgroupLimits only if it differs from this default. */
int decode_cgroup_limits(struct config_decode *d, struct error *err)
{
	static const char *const words[] = {"optional", "required"};
	const char *group = json_text(d->out, "cgroup", "");
	const size_t usual = *group == '/';
	size_t index = usual;

	if (decode_choice(d->in, "config", "cgroupLimits", JSON_OPTIONAL, words, ARRAY_SIZE(words),
			  &index, err) < 0)
		return -1;
	if (index == usual)
		return 0;
	if (*group && *group != '/')
		return error_set(
			err, ERR_INVALID,
			"config.cgroupLimits cannot be \"required\" while config.cgroup is \"%s\", which sets no limits: change one of the two",
			group);
	return json_put_string(d->out, "cgroupLimits", words[index], err);
}

int decode_limits(struct config_decode *d, struct error *err)
{
	static const char *const keys[] = {"diskBytesPerSecond", "diskOpsPerSecond",
					   "netBytesPerSecond", NULL};
	const char *mode = json_text(json_object_get(d->out, "network"), "mode", NULL);
	json_auto_t *out = json_object();
	json_t *limits = NULL;

	if (json_get_object(d->in, "config", "limits", JSON_OPTIONAL, &limits, err) < 0 ||
	    (limits && d->strict && json_only_keys(limits, "config.limits", keys, err) < 0))
		return -1;
	for (size_t i = 0; limits && keys[i]; i++) {
		int64_t value = 0;

		if (json_get_int(limits, "config.limits", keys[i], JSON_OPTIONAL, 1,
				 MACHINE_RATE_MAX, &value, err) < 0 ||
		    (value && put_int(out, keys[i], value, err) < 0))
			return -1;
	}
	if (json_object_get(out, "netBytesPerSecond") &&
	    !strcmp(mode, network_mode_names[NETWORK_ISOLATED]))
		return error_set(
			err, ERR_INVALID,
			"config.limits.netBytesPerSecond needs a network, and mode is \"isolated\": change one of the two");
	return json_object_size(out) ? json_put(d->out, "limits", json_incref(out), err) : 0;
}

int decode_console(struct config_decode *d, struct error *err)
{
	static const char *const shell = "shell";
	size_t found = 1;

	if (decode_choice(d->in, "config", "console", JSON_OPTIONAL, &shell, 1, &found, err) < 0)
		return -1;
	return found == 0 ? json_put_string(d->out, "console", shell, err) : 0;
}

int decode_image(struct config_decode *d, struct error *err)
{
	static const char *const keys[] = {"imageRef", "resolvedRef", "imageDigest", NULL};
	json_auto_t *out = json_object();
	json_t *image = NULL;

	if (!out)
		return error_errno(err, ENOMEM, "config.image");
	if (json_get_object(d->in, "config", "image", JSON_OPTIONAL, &image, err) < 0)
		return -1;
	if (image && d->strict && json_only_keys(image, "config.image", keys, err) < 0)
		return -1;
	for (size_t i = 0; image && keys[i]; i++) {
		const char *text = NULL;

		if (decode_text(image, "config.image", keys[i], JSON_OPTIONAL, &text, err) < 0 ||
		    (text && json_put_string(out, keys[i], text, err) < 0))
			return -1;
	}
	if (!json_object_size(out))
		return 0;
	return json_put(d->out, "image", json_incref(out), err);
}
