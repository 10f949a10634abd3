/* SPDX-License-Identifier: MIT */
/*
 * The command bundle-build: a tar archive as an ext4 file system, which the guest mounts read-only.
 * Owners, modes, times and links are the archive's; nodes of devices, FIFOs and sockets are left
 * out. The archive may be hostile: names that lead out of it are refused, and how much it unpacks
 * to is bounded.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact/artifact.h"
#include "artifact/ext4.h"
#include "artifact/place.h"
#include "artifact/tree.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"

#define BLOCK UINT64_C(4096)
/* mke2fs makes an inode for so many bytes of the file system. */
#define BYTES_PER_INODE UINT64_C(16384)
#define SLACK (UINT64_C(16) << 20)

/* Fixed, so that the same archive gives the same bytes. */
static const char uuid[] = "b0b0b0b0-0000-4000-8000-6d6963726f61";
#define FIXED_TIME 1767225600

static int add_parents(struct tree *tree, json_t *listed, const char *path, struct error *err)
{
	autofree char *parent = strdup(path);
	char *slash;

	if (!parent)
		return error_errno(err, ENOMEM, "bundle");
	while ((slash = strrchr(parent, '/')) && slash != parent) {
		*slash = '\0';
		if (json_object_get(listed, parent))
			return 0;
		if (tree_dir(tree, parent, 0755, 0, err) < 0 ||
		    json_put(listed, parent, json_true(), err) < 0)
			return -1;
	}
	return 0;
}

/* Directories that are in the archive only by what is in them. */
static int list_parents(struct tree *tree, struct error *err)
{
	json_auto_t *listed = json_object();
	size_t count = tree->count;

	for (size_t i = 0; i < count; i++)
		if (json_put(listed, tree->entries[i].path, json_true(), err) < 0)
			return -1;
	for (size_t i = 0; i < count; i++)
		if (add_parents(tree, listed, tree->entries[i].path, err) < 0)
			return -1;
	return 0;
}

static uint64_t size_of(const struct tree *tree)
{
	uint64_t bytes = SLACK + tree->bytes + tree->count * (BYTES_PER_INODE + BLOCK);

	bytes += bytes / 32;
	return (bytes + (UINT64_C(1) << 20) - 1) & ~((UINT64_C(1) << 20) - 1);
}

static int build(const struct place *place, const char *from, int to, struct error *err)
{
	auto_tree struct tree tree = {.time = FIXED_TIME,
				      .bytes_max = limit_get(LIMIT_BUNDLE_BYTES),
				      .count_max = limit_get(LIMIT_BUNDLE_FILES)};
	autofree char *stage = place_scratch(place, "root", err);
	autofree char *file = stage ? place_scratch(place, "bundle", err) : NULL;
	struct ext4_spec spec = {
		.label = "bundle", .uuid = uuid, .journal_mib = 4, .time = FIXED_TIME};
	autoclose int made = -1;

	/* The root's own entry, where the archive has one, comes later and counts. */
	if (!file || tree_dir(&tree, "/", 0755, 0, err) < 0 ||
	    tree_untar(&tree, from, stage, err) < 0 || list_parents(&tree, err) < 0)
		return -1;
	spec.size = size_of(&tree);
	if (ext4_make(&spec, &tree, stage, file, err) < 0)
		return -1;
	made = open(file, O_RDONLY | O_CLOEXEC);
	if (made < 0)
		return error_errno(err, errno, "%s", file);
	return path_clone_data(made, to, NULL, err);
}

int artifact_bundle_build(const struct artifact_options *opts, struct error *err)
{
	auto_place struct place place = {0};
	json_auto_t *answer = json_object();
	int to;

	if (!opts->from || !opts->fd)
		return error_set(err, ERR_INVALID,
				 "bundle-build needs --from ARCHIVE and --fd N to write to");
	to = artifact_fd(opts, err);
	if (to < 0 || place_open(CACHE_IMAGES, "bundle", &place, err) < 0 ||
	    build(&place, opts->from, to, err) < 0)
		return -1;
	return artifact_answer(opts, answer, err, "the bundle is built");
}
