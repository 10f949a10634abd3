/* SPDX-License-Identifier: MIT */
/* Decodes the section "linux" of a config, without its resources. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "oci/config/read.h"

const char *const oci_namespace_names[OCI_NAMESPACE_TYPES] = {
	[OCI_NAMESPACE_PID] = "pid",	 [OCI_NAMESPACE_NETWORK] = "network",
	[OCI_NAMESPACE_IPC] = "ipc",	 [OCI_NAMESPACE_UTS] = "uts",
	[OCI_NAMESPACE_MOUNT] = "mount", [OCI_NAMESPACE_CGROUP] = "cgroup",
	[OCI_NAMESPACE_USER] = "user",	 [OCI_NAMESPACE_TIME] = "time",
};

static int decode_namespace(const json_t *item, const char *path, struct oci_namespace *out,
			    struct error *err)
{
	const char *type = "", *file = "";
	int i = 0;

	if (json_get_string(item, path, "type", JSON_REQUIRED, &type, err) < 0 ||
	    json_get_string(item, path, "path", JSON_OPTIONAL, &file, err) < 0)
		return -1;
	while (i < OCI_NAMESPACE_TYPES && strcmp(oci_namespace_names[i], type) != 0)
		i++;
	if (i == OCI_NAMESPACE_TYPES)
		return error_set(
			err, ERR_INVALID,
			"%s.type is not a known namespace: %s; use a type of the runtime specification, like pid",
			path, type);
	if (*file && *file != '/')
		return error_set(err, ERR_INVALID, "%s.path must be an absolute path", path);
	out->type = (enum oci_namespace_type)i;
	out->path = *file ? file : NULL;
	return 0;
}

static int decode_namespaces(const json_t *system, struct oci_config *out, struct error *err)
{
	json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (json_get_array(system, "linux", "namespaces", JSON_OPTIONAL, &list, err) < 0)
		return -1;
	if (json_array_size(list) == 0)
		return 0;
	out->namespaces = calloc(json_array_size(list), sizeof(*out->namespaces));
	if (!out->namespaces)
		return error_errno(err, ENOMEM, "namespaces");
	json_array_foreach(list, i, item)
	{
		struct oci_namespace *one = &out->namespaces[i];
		char where[OCI_PATH];

		oci_path_item(where, "linux", "namespaces", i);
		if (decode_namespace(item, where, one, err) < 0)
			return -1;
		if (oci_config_namespace(out, one->type))
			return error_set(
				err, ERR_INVALID,
				"%s.type is %s, but an earlier entry has this type too: leave one of them out",
				where, oci_namespace_names[one->type]);
		out->nnamespaces++;
	}
	return 0;
}

static int decode_devices(const json_t *system, struct oci_config *out, struct error *err)
{
	json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (json_get_array(system, "linux", "devices", JSON_OPTIONAL, &list, err) < 0)
		return -1;
	out->devices = calloc(json_array_size(list) + 1, sizeof(*out->devices));
	if (!out->devices)
		return error_errno(err, ENOMEM, "devices");
	json_array_foreach(list, i, item)
	{
		struct oci_device *device = &out->devices[out->ndevices++];
		char where[OCI_PATH];

		oci_path_item(where, "linux", "devices", i);
		*device = (struct oci_device){.path = "", .type = ""};
		if (json_get_string(item, where, "path", JSON_REQUIRED, &device->path, err) < 0 ||
		    json_get_string(item, where, "type", JSON_OPTIONAL, &device->type, err) < 0 ||
		    json_get_int(item, where, "major", JSON_OPTIONAL, INT64_MIN, INT64_MAX,
				 &device->major, err) < 0 ||
		    json_get_int(item, where, "minor", JSON_OPTIONAL, INT64_MIN, INT64_MAX,
				 &device->minor, err) < 0)
			return -1;
	}
	return 0;
}

/* Checks the names of sysctl settings. The guest makes a path below /proc/sys from each name, with
 * a slash for each dot. */
static int check_sysctl(const json_t *sysctl, struct error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)sysctl, name, value)
	{
		size_t len = strlen(name), i = 0;

		while (i < len && (isalnum((unsigned char)name[i]) || strchr("_-./:*@", name[i])))
			i++;
		if (!*name || i < len || strstr(name, "..") || strchr("./", *name))
			return error_set(
				err, ERR_INVALID,
				"linux.sysctl.%s is not the name of a setting: use a name like net.ipv4.ip_forward",
				name);
	}
	return 0;
}

static int decode_personality(const json_t *system, struct oci_config *out, struct error *err)
{
	json_t *personality = NULL;
	const char *domain = "LINUX";

	if (json_get_object(system, "linux", "personality", JSON_OPTIONAL, &personality, err) < 0)
		return -1;
	if (!personality)
		return 0;
	if (json_get_string(personality, "linux.personality", "domain", JSON_REQUIRED, &domain,
			    err) < 0)
		return -1;
	if (strcmp(domain, "LINUX") != 0 && strcmp(domain, "LINUX32") != 0)
		return error_set(err, ERR_INVALID,
				 "linux.personality.domain must be LINUX or LINUX32");
	out->personality = strcmp(domain, "LINUX") == 0 ? PER_LINUX : PER_LINUX32;
	return 0;
}

int oci_linux_decode(const json_t *document, struct oci_config *out, struct error *err)
{
	json_auto_t *nothing = json_object();
	json_t *system = nothing, *resources = NULL, *seccomp = NULL;

	out->personality = -1;
	if (json_get_object(document, "", "linux", JSON_OPTIONAL, &system, err) < 0 ||
	    oci_resources_decode(NULL, "", &out->resources, err) < 0)
		return -1;
	if (decode_namespaces(system, out, err) < 0 || decode_devices(system, out, err) < 0 ||
	    oci_get_absolutes(system, "linux", "maskedPaths", &out->masked_paths, err) < 0 ||
	    oci_get_absolutes(system, "linux", "readonlyPaths", &out->readonly_paths, err) < 0 ||
	    oci_get_map(system, "linux", "sysctl", &out->sysctl, err) < 0 ||
	    check_sysctl(out->sysctl, err) < 0 || decode_personality(system, out, err) < 0 ||
	    json_get_string(system, "linux", "cgroupsPath", JSON_OPTIONAL, &out->cgroups_path,
			    err) < 0 ||
	    json_get_string(system, "linux", "rootfsPropagation", JSON_OPTIONAL,
			    &out->rootfs_propagation, err) < 0 ||
	    json_get_object(system, "linux", "resources", JSON_OPTIONAL, &resources, err) < 0 ||
	    json_get_object(system, "linux", "seccomp", JSON_OPTIONAL, &seccomp, err) < 0 ||
	    oci_resources_decode(resources, "linux.resources", &out->resources, err) < 0 ||
	    oci_device_rules_decode(resources, out, err) < 0)
		return -1;
	out->seccomp = seccomp;
	return 0;
}
