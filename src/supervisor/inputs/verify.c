/* SPDX-License-Identifier: MIT */
/* Makes the verification block, which compares the present boot files with the digests that prepare
 * has recorded. */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/fields.h"
#include "supervisor/inputs/boot_files.h"

static const char *const artifact_names[BOOT_FILE_COUNT] = {
	[BOOT_KERNEL] = "kernel",
	[BOOT_INITRD] = "initrd",
	[BOOT_INIT] = "init",
	[BOOT_BASE] = "base",
	[BOOT_MODEL] = "hardwareModel",
	[BOOT_IDENTIFIER] = "machineIdentifier",
	[BOOT_AUXILIARY] = "auxiliaryStorage",
	[BOOT_ROOTFS] = "rootfs",
};
static_assert(ARRAY_SIZE(artifact_names) == BOOT_FILE_COUNT, "a name for every file");

static int put_verified_text(json_t *object, const char *key, const char *text, struct error *err)
{
	return json_put(object, key, json_string_lossy(text, strlen(text)), err);
}

static int out_of_memory(struct error *err)
{
	return error_set(err, ERR_IO, "out of memory");
}

json_t *boot_files_record(const struct boot_files *files, struct error *err)
{
	json_auto_t *record = json_object();

	for (int i = 0; record && i < BOOT_FILE_COUNT; i++) {
		json_t *artifact = NULL;

		if (!files->file[i].path)
			continue;
		artifact = json_object();
		if (json_put(record, artifact_names[i], artifact, err) < 0 ||
		    put_verified_text(artifact, "path", files->file[i].path, err) < 0)
			return NULL;
		if (*files->file[i].sha256 &&
		    json_put_string(artifact, "sha256", files->file[i].sha256, err) < 0)
			return NULL;
	}
	if (!record)
		out_of_memory(err);
	return steal_ptr(&record);
}

static int put_divergence(json_t *list, const char *artifact, const char *expected,
			  const char *actual, const struct error *error, struct error *err)
{
	json_auto_t *entry = json_object();

	if (!entry || json_put_string(entry, "artifact", artifact, err) < 0 ||
	    json_put_string(entry, "field", "sha256", err) < 0)
		return -1;
	if (expected && json_put_string(entry, "expected", expected, err) < 0)
		return -1;
	/* If the digest could not be computed, `actual` is an earlier digest, so it is not
	 * reported. */
	if (json_put(entry, "actual", error->code || !*actual ? json_null() : json_string(actual),
		     err) < 0)
		return -1;
	if (error->code && put_verified_text(entry, "error", error->msg, err) < 0)
		return -1;
	return json_array_append(list, entry) == 0 ? 0 : out_of_memory(err);
}

/* Returns true if the file must have its recorded digest. The digest of a disk to which a guest has
 * written is reported, but not compared. */
static bool is_enforced(const struct boot_files *files, enum boot_file which)
{
	return !files->rootfs_started ||
	       verification_compares(artifact_names[which]) == COMPARED_ALWAYS;
}

/* Adds a digest that was valid at the time `when`. A guest may have written to the disk since
 * then. */
static int put_last(json_t *artifact, const char *sha256, const char *when, struct error *err)
{
	if (json_put_string(artifact, "lastSHA256", sha256, err) < 0 ||
	    json_put_string(artifact, "observedAt", when, err) < 0)
		return -1;
	return json_put(artifact, "mayHaveChanged", json_true(), err);
}

static int put_digest_of(const struct boot_files *files, enum boot_file which, json_t *artifact,
			 struct error *err)
{
	const char *sha256 = files->file[which].sha256;

	if (!*sha256)
		return 0;
	if (which == BOOT_ROOTFS && files->rootfs_observed_at[0])
		return put_last(artifact, sha256, files->rootfs_observed_at, err);
	return json_put_string(artifact, "sha256", sha256, err);
}

/* Adds one artifact to the block. If its digest differs from the recorded one, also adds an entry
 * to the list of divergences. */
static int verify_boot_file(const struct boot_files *files, enum boot_file which,
			    const json_t *recorded, json_t *block, json_t *divergence,
			    struct error *err)
{
	const char *name = artifact_names[which], *now = files->file[which].sha256;
	const char *then = json_text(json_object_get(recorded, name), "sha256", NULL);
	const struct error *error = &files->file[which].error;
	json_t *artifact = json_object();

	if (json_put(block, name, artifact, err) < 0 ||
	    put_verified_text(artifact, "path", files->file[which].path, err) < 0)
		return -1;
	if (put_digest_of(files, which, artifact, err) < 0)
		return -1;
	if (then && json_put_string(artifact, "recordedSHA256", then, err) < 0)
		return -1;
	if (error->code && put_verified_text(artifact, "error", error->msg, err) < 0)
		return -1;
	if (error->code || (then && is_enforced(files, which) && strcmp(then, now) != 0))
		return put_divergence(divergence, name, then, now, error, err);
	return 0;
}

static int put_image_names(json_t *block, const json_t *image, struct error *err)
{
	static const char *const keys[] = {"imageRef", "resolvedRef", "imageDigest"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(image, keys[i]);

		if (value && json_put(block, keys[i], json_incref(value), err) < 0)
			return -1;
	}
	return 0;
}

json_t *boot_files_verify(const struct boot_files *files, const json_t *image,
			  const json_t *recorded, struct error *err)
{
	json_auto_t *block = json_object();
	json_auto_t *divergence = json_array();

	if (!block || !divergence || json_put(block, "ok", json_true(), err) < 0 ||
	    put_image_names(block, image, err) < 0)
		return NULL;
	for (int i = 0; i < BOOT_FILE_COUNT; i++)
		if (files->file[i].path && verify_boot_file(files, (enum boot_file)i, recorded,
							    block, divergence, err) < 0)
			return NULL;
	if (json_put(block, "ok", json_boolean(json_array_size(divergence) == 0), err) < 0 ||
	    json_put(block, "divergence", json_incref(divergence), err) < 0)
		return NULL;
	return steal_ptr(&block);
}

int verification_add_divergence(json_t *verification, const char *artifact, const char *expected,
				const char *actual, const struct error *error, struct error *err)
{
	if (put_divergence(json_object_get(verification, "divergence"), artifact, expected, actual,
			   error, err) < 0)
		return -1;
	return json_put(verification, "ok", json_false(), err);
}

int verification_hand_over_rootfs(json_t *verification, const char *when, struct error *err)
{
	json_t *rootfs = json_object_get(verification, artifact_names[BOOT_ROOTFS]);
	const char *sha256 = json_text(rootfs, "sha256", NULL);

	if (!sha256)
		return 0;
	if (put_last(rootfs, sha256, when, err) < 0)
		return -1;
	return json_object_del(rootfs, "sha256") == 0 ? 0 : out_of_memory(err);
}

/* Returns the divergence of the artifact `name`, or NULL. */
static const json_t *find_divergence(const json_t *list, const char *name)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (strcmp(json_text(entry, "artifact", ""), name) == 0)
			return entry;
	}
	return NULL;
}

/* Sets the error for an init whose digest differs. The usual reason is an upgrade of microagent. */
static int tell_upgrade(const json_t *init, const char *path, struct error *err)
{
	error_set(
		err, ERR_CONFLICT,
		"the guest's init in %s has changed since the workspace was prepared (its digest is %.12s now, and was %.12s), perhaps by an upgrade of microagent: prepare the workspace again to boot it with the new init",
		path, json_text(init, "actual", ""), json_text(init, "expected", ""));
	return error_reason(err, REASON_NOT_AS_PREPARED, "");
}

/* Sets the error for a bundle's disk whose digest differs. Only prepare writes such a disk, so the
 * message says that the workspace must be prepared again. */
static int tell_bundle(const json_t *entry, const char *name, struct error *err)
{
	error_set(
		err, ERR_CONFLICT,
		"the disk of bundle \"%s\" has changed since the workspace was prepared (its digest is %.12s now, and was %.12s): prepare the workspace again, which makes the disk again from the bundle's archive",
		name, json_text(entry, "actual", ""), json_text(entry, "expected", ""));
	return error_reason(err, REASON_NOT_AS_PREPARED, "");
}

int verification_require(const json_t *verification, struct error *err)
{
	const json_t *list = json_object_get(verification, "divergence");
	const json_t *init = find_divergence(list, artifact_names[BOOT_INIT]);
	const json_t *first = json_array_get(list, 0);
	const char *name = json_text(first, "artifact", "");
	const char *path = json_text(json_object_get(verification, name), "path", "");

	if (!first)
		return 0;
	if (init && !json_object_get(init, "error") &&
	    !find_divergence(list, artifact_names[BOOT_KERNEL]))
		return tell_upgrade(
			init, json_text(json_object_get(verification, "init"), "path", ""), err);
	if (json_object_get(first, "error"))
		return error_set(
			err, ERR_CONFLICT,
			"the %s cannot be compared with the digest that was recorded when the workspace was prepared: %s",
			name, json_text(first, "error", ""));
	if (strncmp(name, "bundle:", 7) == 0)
		return tell_bundle(first, name + 7, err);
	error_set(
		err, ERR_CONFLICT,
		"the %s %s has changed since the workspace was prepared (its digest is %.12s now, and was %.12s): prepare the workspace again if the change is intended",
		name, path, json_text(first, "actual", ""), json_text(first, "expected", ""));
	return error_reason(err, REASON_NOT_AS_PREPARED, "");
}
