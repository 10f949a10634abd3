/* SPDX-License-Identifier: MIT */
#include "api/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "contract/request.h"

/* The kinds of mounts in a guest. The config has a list for each kind. */
enum mount_kind { MOUNT_DISK, MOUNT_BUNDLE, MOUNT_SHARE };

struct found {
	enum mount_kind kind;
	const json_t *item; /* the mount's element in its list; NULL: the root disk */
	size_t len;	    /* length of the mountpoint in bytes */
};

void place_free(struct place *place)
{
	free(place->disk);
	free(place->base);
	free(place->mountpoint);
	free(place->within);
	*place = (struct place){0};
}

static bool place_is_below(const char *path, const char *mountpoint, size_t len)
{
	return len > 1 && strncmp(path, mountpoint, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0');
}

/* Finds the mount that contains `path`. If several mountpoints are above `path`, chooses the
 * longest. */
static void place_look_in(const json_t *list, enum mount_kind kind, const char *path,
			  struct found *found)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *mountpoint = json_text(item, "mountpoint", "");
		size_t len = strlen(mountpoint);

		if (len > found->len && place_is_below(path, mountpoint, len))
			*found = (struct found){kind, item, len};
	}
}

static char *disk_of(const struct workspace *ws, const json_t *config, const struct found *found,
		     struct error *err)
{
	char file[200];

	if (!found->item && !*json_text(config, "rootfsPath", "")) {
		error_set(
			err, ERR_UNSUPPORTED,
			"the root file system of this workspace is in memory and not on a disk, so only the running machine can read it");
		error_reason(err, REASON_ROOT_IN_MEMORY, "");
		return NULL;
	}
	if (!found->item)
		return path_join(".", json_text(config, "rootfsPath", ""), err);
	if (found->kind == MOUNT_DISK)
		return path_join(".", json_text(found->item, "path", ""), err);
	snprintf(file, sizeof(file), "bundle-%s.ext4", json_text(found->item, "name", ""));
	return workspace_path(ws, file, err);
}

static int place_fill(const struct workspace *ws, const json_t *config, const char *clean,
		      const struct found *found, struct place *out, struct error *err)
{
	struct place place = {.changes = !found->item ||
					 (found->kind == MOUNT_DISK &&
					  !strcmp(json_text(found->item, "mode", ""), "rw")),
			      .direct = found->item && found->kind == MOUNT_DISK &&
					json_is_true(json_object_get(found->item, "direct"))};

	place.disk = disk_of(ws, config, found, err);
	if (!place.disk)
		return -1;
	if (!found->item && *json_text(config, "rootfsBase", "")) {
		place.base = path_join(".", json_text(config, "rootfsBase", ""), err);
		if (!place.base) {
			place_free(&place);
			return -1;
		}
	}
	place.mountpoint = strdup(found->item ? json_text(found->item, "mountpoint", "") : "/");
	place.within = strdup(clean[found->len] ? clean + found->len : "/");
	if (place.mountpoint && place.within) {
		*out = place;
		return 0;
	}
	place_free(&place);
	return error_errno(err, ENOMEM, "path");
}

int place_find(const struct workspace *ws, const json_t *config, const char *path,
	       struct place *out, struct error *err)
{
	autofree char *clean = NULL;
	struct found found = {0};

	if (path[0] != '/')
		return error_set(
			err, ERR_INVALID,
			"%.300s is not an absolute path: a path in a workspace begins with /",
			path);
	for (const char *p = path; (p = strstr(p, "/..")); p += 3)
		if (p[3] == '/' || p[3] == '\0')
			return error_set(
				err, ERR_INVALID,
				"%.300s has \"..\" in it, and a path in a workspace cannot have that: write the path without \"..\"",
				path);
	clean = path_absolute(path, err);
	if (!clean)
		return -1;
	place_look_in(json_object_get(config, "disks"), MOUNT_DISK, clean, &found);
	place_look_in(json_object_get(config, "bundles"), MOUNT_BUNDLE, clean, &found);
	place_look_in(json_object_get(config, "shares"), MOUNT_SHARE, clean, &found);
	if (found.item && found.kind == MOUNT_BUNDLE && bundle_kind(found.item) == BUNDLE_REVIEW)
		return error_set(
			err, ERR_UNSUPPORTED,
			"%.300s is in %.300s, a directory that is shared for a review, whose files are read only while the machine runs: start it, or list what has changed there",
			path, json_text(found.item, "mountpoint", ""));
	if (found.item && found.kind == MOUNT_SHARE)
		return error_set(
			err, ERR_INVALID,
			"%.300s is in the shared directory %.300s, not on a disk of the workspace: use its path on the host, %.300s%.300s",
			path, json_text(found.item, "mountpoint", ""),
			json_text(found.item, "path", ""), clean + found.len);
	return place_fill(ws, config, clean, &found, out, err);
}
