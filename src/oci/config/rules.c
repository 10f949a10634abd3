/* SPDX-License-Identifier: MIT */
#include "oci/config/fields.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "oci/config/read.h"

/* --- mounts ------------------------------------------------------------------------------------
 */

static int check_option(const char *option, bool crosses, const char *path, struct error *err)
{
	switch (oci_mount_option_kind(option)) {
	case OCI_OPTION_SHARED:
		return !crosses
			       ? 0
			       : error_set(
					 err, ERR_UNSUPPORTED,
					 "%s: %s is not supported: a machine does not see what the host mounts later; use rprivate, or pass the annotation " OCI_PROPAGATION_ANNOTATION
					 "=ignore",
					 path, option);
	case OCI_OPTION_RECURSIVE:
		return error_set(
			err, ERR_UNSUPPORTED,
			"%s: %s is not supported: a machine sees a tree of mounts as one mount; use the option for a single mount",
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

static int check_mount_type(const char *type, const char *path, struct error *err)
{
	static const char *const known[] = {"proc",   "sysfs",	"tmpfs",  "devpts",
					    "mqueue", "cgroup", "cgroup2"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(known[i], type) == 0)
			return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"%s.type %s is not supported: only the host can mount this file system; mount it on the host, and bind its directory",
		path, type);
}

static int check_bound(const struct oci_mount *mount, const char *path, struct error *err)
{
	static const char *const shut[] = {"/dev", "/proc", "/sys"};
	autofree char *source = oci_clean(mount->source, err);

	if (!source)
		return -1;
	for (size_t i = 0; *mount->source == '/' && !mount->is_shm && i < ARRAY_SIZE(shut); i++)
		if (path_is_below(source, shut[i]))
			return error_set(
				err, ERR_UNSUPPORTED,
				"%s.source %s is not supported: %s of the host means nothing in a machine, which has its own; leave the mount out",
				path, source, shut[i]);
	return 0;
}

static int check_mounts(const struct oci_config *config, const struct oci_notes *notes,
			struct error *err)
{
	const char *word = oci_config_annotation(config, OCI_PROPAGATION_ANNOTATION);
	bool lax = word && strcmp(word, "ignore") == 0;

	for (size_t i = 0; i < config->nmounts; i++) {
		const struct oci_mount *mount = &config->mounts[i];
		char where[OCI_PATH], at[OCI_PATH];

		oci_path_item(where, "", "mounts", i);
		if (mount->is_bind ? check_bound(mount, where, err) < 0
				   : check_mount_type(mount->type, where, err) < 0)
			return -1;
		for (size_t j = 0; mount->options[j]; j++) {
			const char *option = mount->options[j];

			oci_path_item(at, where, "options", j);
			if (check_option(option, mount->is_bind && !lax, at, err) < 0)
				return -1;
			/* Warns that the option is ignored. The user may miss files that the image
			 * has under the mount. */
			if (oci_mount_option_kind(option) == OCI_OPTION_COPY_UP)
				oci_note(notes, true,
					 "%s tmpcopyup is ignored: the tmpfs begins empty", at);
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

static int check_namespaces(const struct oci_config *config, struct error *err)
{
	static const struct {
		enum oci_namespace_type type;
		const char *what;
	} wanted[] = {{OCI_NAMESPACE_PID, "the host's processes"},
		      {OCI_NAMESPACE_NETWORK, "the host's network"},
		      {OCI_NAMESPACE_IPC, "the host's IPC objects"}};
	const struct oci_namespace *n;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const char *name = oci_namespace_names[wanted[i].type];

		if (!oci_config_namespace(config, wanted[i].type))
			return error_set(
				err, ERR_UNSUPPORTED,
				"linux.namespaces without %s is not supported: a machine cannot have %s; run the container without the host's %s namespace",
				name, wanted[i].what, name);
	}
	n = oci_config_namespace(config, OCI_NAMESPACE_TIME);
	if (n)
		return error_set(
			err, ERR_UNSUPPORTED,
			"linux.namespaces[%zu].type time is not supported: the guest's containers have no time namespaces; run the container without a time namespace",
			(size_t)(n - config->namespaces));
	n = oci_config_namespace(config, OCI_NAMESPACE_USER);
	if (n)
		return error_set(
			err, ERR_UNSUPPORTED,
			"linux.namespaces[%zu].type user is not supported: the guest's containers have no user namespaces, because the machine confines them; run the container without a user namespace",
			(size_t)(n - config->namespaces));
	/* Refuses a path for a mount or cgroup namespace. A path for a network namespace is
	 * allowed, since the host's processes join that namespace. put_namespaces() checks the
	 * paths of the other types, since these may be namespaces of the pod's first container. */
	for (size_t i = 0; i < config->nnamespaces; i++) {
		n = &config->namespaces[i];
		if (n->path && (n->type == OCI_NAMESPACE_MOUNT || n->type == OCI_NAMESPACE_CGROUP))
			return error_set(
				err, ERR_UNSUPPORTED,
				"linux.namespaces[%zu].path of type %s is not supported: each container has its own namespace of this type in the machine; leave the path out",
				i, oci_namespace_names[n->type]);
	}
	return 0;
}

/* --- devices, seccomp --------------------------------------------------------------------------
 */

static bool is_default_device(const struct oci_device *device)
{
	static const struct {
		const char *path;
		int64_t major, minor; /* -1: the guest chooses the number */
	} known[] = {
		{"/dev/null", 1, 3},	  {"/dev/zero", 1, 5},	  {"/dev/full", 1, 7},
		{"/dev/random", 1, 8},	  {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
		{"/dev/console", -1, -1}, {"/dev/ptmx", -1, -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(known[i].path, device->path) == 0)
			return (strcmp(device->type, "c") == 0 || strcmp(device->type, "u") == 0) &&
			       (known[i].major < 0 || (known[i].major == device->major &&
						       known[i].minor == device->minor));
	return false;
}

static int check_devices(const struct oci_config *config, struct error *err)
{
	for (size_t i = 0; i < config->ndevices; i++)
		if (!is_default_device(&config->devices[i]))
			return error_set(
				err, ERR_UNSUPPORTED,
				"linux.devices[%zu] %s is not supported: a machine has no devices of the host; run the container without it, and not as privileged",
				i, config->devices[i].path);
	return 0;
}

static int check_seccomp(const json_t *seccomp, struct error *err)
{
	const json_t *rule;
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

int oci_config_check(const struct oci_config *config, const struct oci_notes *notes,
		     struct error *err)
{
	const char *propagation = oci_config_annotation(config, OCI_PROPAGATION_ANNOTATION);
	const char *rootfs = oci_config_annotation(config, OCI_ROOTFS_ANNOTATION);

	if (check_namespaces(config, err) < 0)
		return -1;
	if (propagation && strcmp(propagation, "ignore") != 0)
		return error_set(err, ERR_UNSUPPORTED,
				 "annotations." OCI_PROPAGATION_ANNOTATION
				 " \"%.64s\" is not supported: the only value is ignore",
				 propagation);
	if (rootfs && strcmp(rootfs, "virtiofs") != 0 && strcmp(rootfs, "overlay") != 0)
		return error_set(
			err, ERR_UNSUPPORTED,
			"annotations." OCI_ROOTFS_ANNOTATION
			" %.64s is not supported: what a container writes goes to the host, or stays in its machine; use virtiofs for the first, overlay for the second",
			rootfs);
	if (check_mounts(config, notes, err) < 0 || check_devices(config, err) < 0)
		return -1;
	return check_seccomp(config->seccomp, err);
}
