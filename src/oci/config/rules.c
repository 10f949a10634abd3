/* SPDX-License-Identifier: MIT */
#include "oci/config/rules.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "oci/config/fields.h"
#include "oci/config/read.h"

static const json_t *of_linux(const json_t *document, const char *key)
{
	return json_object_get(json_object_get(document, "linux"), key);
}

/* Of the specification's 1.x, which promises that nothing of it changes its meaning. */
static int check_version(const json_t *document, struct error *err)
{
	const char *version = json_text(document, "ociVersion", NULL);

	/* That there is none is for who decodes it to say. */
	if (!version)
		return 0;
	if (version[0] == '1' && version[1] == '.' && version[2] >= '0' && version[2] <= '9')
		return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"ociVersion %s is not supported: this program knows 1.0.0 and later of 1; use an engine that writes those",
		version);
}

/* --- mounts ------------------------------------------------------------------------------------
 */

static bool ignores_propagation(const json_t *document)
{
	const json_t *annotations = json_object_get(document, "annotations");

	return strcmp(json_text(annotations, OCI_PROPAGATION_ANNOTATION, ""), "ignore") == 0;
}

static int check_propagation(const json_t *document, struct error *err)
{
	const json_t *annotations = json_object_get(document, "annotations");
	const char *word = json_text(annotations, OCI_PROPAGATION_ANNOTATION, "ignore");

	if (strcmp(word, "ignore") == 0)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
			 "annotations." OCI_PROPAGATION_ANNOTATION
			 " \"%.64s\" is not supported: it can be ignored alone; use ignore",
			 word);
}

static int check_rootfs(const json_t *document, struct error *err)
{
	const json_t *annotations = json_object_get(document, "annotations");
	const char *word = json_text(annotations, OCI_ROOTFS_ANNOTATION, "virtiofs");

	if (strcmp(word, "virtiofs") == 0 || strcmp(word, "overlay") == 0)
		return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"annotations." OCI_ROOTFS_ANNOTATION
		" %.64s is not supported: what a container writes goes to the host, or stays in its machine; use virtiofs for the first, overlay for the second",
		word);
}

static int check_option(const char *option, bool crosses, const char *path, struct error *err)
{
	switch (oci_mount_option_kind(option)) {
	case OCI_OPTION_SHARED:
		return !crosses
			       ? 0
			       : error_set(
					 err, ERR_UNSUPPORTED,
					 "%s: %s is not supported: what is mounted later does not cross the border of a machine; use rprivate, or pass the annotation " OCI_PROPAGATION_ANNOTATION
					 "=ignore",
					 path, option);
	case OCI_OPTION_RECURSIVE:
		return error_set(
			err, ERR_UNSUPPORTED,
			"%s: %s is not supported: a machine sees a tree of mounts as one; use the option of the mount itself",
			path, option);
	case OCI_OPTION_IDMAP:
		return error_set(
			err, ERR_UNSUPPORTED,
			"%s: %s is not supported: a machine has no mounts with mapped ids; give the volume the ids that the container wants",
			path, option);
	default:
		return 0;
	}
}

static bool is_bind(const json_t *mount)
{
	const json_t *option;
	size_t i;

	json_array_foreach(json_object_get(mount, "options"), i, option)
	{
		const char *text = json_string_value(option);

		if (text && oci_mount_option_kind(text) == OCI_OPTION_BIND)
			return true;
	}
	return strcmp(json_text(mount, "type", ""), "bind") == 0;
}

static int check_mount_type(const char *type, const char *path, struct error *err)
{
	static const char *const known[] = {"proc",   "sysfs",	"tmpfs",  "devpts",
					    "mqueue", "cgroup", "cgroup2"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(known[i], type) == 0)
			return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"%s.type %s is not supported: what the host could mount is not in the machine; mount it on the host and bind it",
		path, type);
}

static int check_bound(const json_t *mount, const char *path, struct error *err)
{
	static const char *const shut[] = {"/dev", "/proc", "/sys"};
	autofree char *source = oci_clean(json_text(mount, "source", ""), err);
	autofree char *target = oci_clean(json_text(mount, "destination", ""), err);

	if (!source || !target)
		return -1;
	if (strcmp(target, "/dev/shm") == 0)
		return 0;
	for (size_t i = 0; *json_text(mount, "source", "") == '/' && i < ARRAY_SIZE(shut); i++)
		if (path_is_below(source, shut[i]))
			return error_set(
				err, ERR_UNSUPPORTED,
				"%s.source %s is not supported: %s of the host means nothing in a machine, which has its own; leave the mount out",
				path, source, shut[i]);
	return 0;
}

static int check_mounts(const json_t *document, struct error *err)
{
	bool lax = ignores_propagation(document);
	const json_t *mount, *option;
	size_t i, j;

	json_array_foreach(json_object_get(document, "mounts"), i, mount)
	{
		char where[OCI_PATH], at[OCI_PATH];
		bool bound = is_bind(mount);

		oci_path_item(where, "", "mounts", i);
		if (bound ? check_bound(mount, where, err) < 0
			  : check_mount_type(json_text(mount, "type", ""), where, err) < 0)
			return -1;
		json_array_foreach(json_object_get(mount, "options"), j, option)
		{
			oci_path_item(at, where, "options", j);
			if (json_is_string(option) &&
			    check_option(json_string_value(option), bound && !lax, at, err) < 0)
				return -1;
		}
	}
	return 0;
}

int oci_mount_source_check(const struct oci_mount *mount, size_t index, mode_t mode,
			   struct error *err)
{
	if (S_ISDIR(mode) || S_ISREG(mode) || mount->is_shm)
		return 0;
	if (S_ISSOCK(mode))
		return error_set(
			err, ERR_UNSUPPORTED,
			"mounts[%zu].source %s is not supported: it is a socket, to which no process of a machine can connect; let the program listen on the network",
			index, mount->source);
	return error_set(
		err, ERR_UNSUPPORTED,
		"mounts[%zu].source %s is not supported: it is %s of the host, which a machine does not have; bind a directory or a file",
		index, mount->source, S_ISFIFO(mode) ? "a pipe" : "a device");
}

/* --- namespaces --------------------------------------------------------------------------------
 */

static bool has_namespace(const json_t *document, const char *type, size_t *index)
{
	const json_t *list = of_linux(document, "namespaces");

	for (size_t i = 0; i < json_array_size(list); i++) {
		*index = i;
		if (strcmp(json_text(json_array_get(list, i), "type", ""), type) == 0)
			return true;
	}
	return false;
}

static int check_namespaces(const json_t *document, struct error *err)
{
	static const struct {
		const char *type, *what;
	} wanted[] = {{"pid", "the host's processes"},
		      {"network", "the host's network"},
		      {"ipc", "the host's IPC objects"}};
	size_t index = 0;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!has_namespace(document, wanted[i].type, &index))
			return error_set(
				err, ERR_UNSUPPORTED,
				"linux.namespaces without %s is not supported: a machine cannot have %s; run the container without the host's %s namespace",
				wanted[i].type, wanted[i].what, wanted[i].type);
	if (has_namespace(document, "time", &index))
		return error_set(
			err, ERR_UNSUPPORTED,
			"linux.namespaces[%zu].type time is not supported: the guest's containers have no time namespaces; run the container without a time namespace",
			index);
	if (has_namespace(document, "user", &index))
		return error_set(
			err, ERR_UNSUPPORTED,
			"linux.namespaces[%zu].type user is not supported: the guest's containers have no user namespaces; the machine is what holds them; run the container without a user namespace",
			index);
	return 0;
}

/* The network's is joined on the host, and of the pod's first container those that it has from the
 * machine (put_namespaces()). */
static int check_namespace_paths(const json_t *document, struct error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(of_linux(document, "namespaces"), i, item)
	{
		const char *type = json_text(item, "type", "");

		if (json_object_get(item, "path") &&
		    (strcmp(type, "mount") == 0 || strcmp(type, "cgroup") == 0))
			return error_set(
				err, ERR_UNSUPPORTED,
				"linux.namespaces[%zu].path of type %s is not supported: each container has one of its own in the machine; leave the path out",
				i, type);
	}
	return 0;
}

/* --- devices, seccomp --------------------------------------------------------------------------
 */

static bool is_default_device(const json_t *device)
{
	static const struct {
		const char *path;
		json_int_t major, minor; /* -1: its number is the guest's affair */
	} known[] = {
		{"/dev/null", 1, 3},	  {"/dev/zero", 1, 5},	  {"/dev/full", 1, 7},
		{"/dev/random", 1, 8},	  {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
		{"/dev/console", -1, -1}, {"/dev/ptmx", -1, -1},
	};
	json_int_t major = json_integer_value(json_object_get(device, "major"));
	json_int_t minor = json_integer_value(json_object_get(device, "minor"));
	const char *type = json_text(device, "type", "");

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(known[i].path, json_text(device, "path", "")) == 0)
			return (strcmp(type, "c") == 0 || strcmp(type, "u") == 0) &&
			       (known[i].major < 0 ||
				(known[i].major == major && known[i].minor == minor));
	return false;
}

static int check_devices(const json_t *document, struct error *err)
{
	const json_t *device;
	size_t i;

	json_array_foreach(of_linux(document, "devices"), i, device)
	{
		if (!is_default_device(device))
			return error_set(
				err, ERR_UNSUPPORTED,
				"linux.devices[%zu] %s is not supported: a machine has no devices of the host; run the container without it, and not as privileged",
				i, json_text(device, "path", "?"));
	}
	return 0;
}

static int check_seccomp(const json_t *document, struct error *err)
{
	const json_t *seccomp = of_linux(document, "seccomp"), *rule;
	char where[OCI_PATH] = "linux.seccomp.defaultAction";
	bool asks = strcmp(json_text(seccomp, "defaultAction", ""), "SCMP_ACT_NOTIFY") == 0;
	size_t i;

	json_array_foreach(json_object_get(seccomp, "syscalls"), i, rule)
	{
		if (asks)
			break;
		asks = strcmp(json_text(rule, "action", ""), "SCMP_ACT_NOTIFY") == 0;
		snprintf(where, sizeof(where), "linux.seccomp.syscalls[%zu].action", i);
	}
	return asks ? error_set(
			      err, ERR_UNSUPPORTED,
			      "%s SCMP_ACT_NOTIFY is not supported: system calls of a machine cannot be answered by the host; use a profile without it",
			      where)
		    : 0;
}

int oci_rules_check(const json_t *document, struct error *err)
{
	if (check_version(document, err) < 0 || check_namespaces(document, err) < 0 ||
	    check_namespace_paths(document, err) < 0 || check_propagation(document, err) < 0 ||
	    check_rootfs(document, err) < 0 || check_mounts(document, err) < 0 ||
	    check_devices(document, err) < 0)
		return -1;
	return check_seccomp(document, err);
}
