/* SPDX-License-Identifier: MIT */
/* Makes a new workspace from a workspace that does not run. The new workspace has a copy of each
 * disk to which a guest can write, copies of the images of reviewed directories, and a new
 * identity. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "store/disk_file.h"

/* Copies the disk whose path is object[key] to a new file in the new workspace. Then sets
 * object[key] to the path of the copy. */
static int copy_disk(struct creation *made, json_t *object, const char *key, const char *file,
		     struct error *err)
{
	const char *path = json_text(object, key, "");
	autoclose int from = disk_file_open(path, O_RDONLY,
					    json_is_true(json_object_get(object, "direct")), err);
	autofree char *copy = workspace_path(&made->ws, file, err);

	if (from < 0 || !copy)
		return -1;
	if (clone_with_digest(from, made->ws.fd, file, NULL, err) < 0)
		return error_prefix(err, "%s/%s", made->dir.path, made->name);
	return json_put_string(object, key, copy, err);
}

/* Copies the disks to which a guest can write. Read-only disks, and disks under layers, are not
 * copied: both workspaces use the same files. */
static int copy_disks(struct creation *made, json_t *config, struct error *err)
{
	json_t *disk;
	size_t i;

	const char *root = *json_text(config, "rootfsBase", "") ? "rootfs.qcow2" : "rootfs.ext4";

	/* A workspace whose root is in memory has no root disk. */
	if (*json_text(config, "rootfsPath", "") &&
	    copy_disk(made, config, "rootfsPath", root, err) < 0)
		return -1;
	json_array_foreach(json_object_get(config, "disks"), i, disk)
	{
		char file[32];

		snprintf(file, sizeof(file), "disk-%zu.img", i);
		if (strcmp(json_text(disk, "mode", ""), "rw") == 0 &&
		    copy_disk(made, disk, "path", file, err) < 0)
			return -1;
	}
	return 0;
}

/* Makes the clone. The caller must hold the lease of the source, so that nobody starts the source
 * while its disks are copied. */
static int clone_held(struct microagent *agent, const struct workspace *source,
		      const struct contract_backend *backend, const json_t *recorded,
		      const char *target, json_t **response, struct error *err)
{
	json_auto_t *config = json_deep_copy(recorded);
	json_auto_t *reviews = reviews_describe(source, err);
	struct creation made = CREATION_NONE;
	struct microagent as = *agent;
	int status;

	as.backend = backend;
	if (!reviews)
		return -1;
	if (!config)
		return error_errno(err, ENOMEM, "clone");
	/* A clone of a macOS guest would be a second machine with the same identifier and the same
	 * auxiliary storage. */
	if (json_object_get(config, "macos"))
		return error_set(
			err, ERR_UNSUPPORTED,
			"a macOS guest cannot be cloned from its disk alone: make a base of macOS, and clone sessions from that base");
	/* The archives are checked first, so that an unreadable archive is noticed before anything
	 * is copied. */
	if (archives_check(config, err) < 0 || creation_empty(agent, target, &made, err) < 0)
		return -1;
	status = copy_disks(&made, config, err);
	if (status == 0)
		status = reviews_copy(reviews, source->fd, made.ws.fd, STORE_NO_SYNC, err);
	if (status == 0)
		status = json_put_string(config, "stateDir", agent->state_path, err);
	if (status == 0)
		status = request_call_with(&as, prepare_keeping, "prepare", target,
					   steal_ptr(&config), response, err);
	if (status < 0)
		creation_undo(&made);
	else
		creation_done(&made);
	creation_free(&made);
	return status;
}

int microagent_clone(struct microagent *agent, const char *source, const char *target,
		     json_t **response, struct error *err)
{
	auto_existing struct open_workspace existing = {0};
	auto_lease struct lease lease = LEASE_NONE;
	json_auto_t *config = NULL;
	struct error why = {0};

	if (microagent_check_name(target, err) < 0 ||
	    open_workspace_named(agent, source, &existing, err) < 0)
		return -1;
	config = open_workspace_config(&existing, err);
	if (!config)
		return -1;
	if (lease_take(&existing.ws, &lease, &why) < 0)
		return why.code == ERR_CONFLICT ? open_workspace_refuse_alive(&existing, err)
						: error_copy(err, &why);
	if (open_workspace_refuse_quarantined(&existing, err) < 0)
		return -1;
	return clone_held(agent, &existing.ws, request_backend(agent, source), config, target,
			  response, err);
}
