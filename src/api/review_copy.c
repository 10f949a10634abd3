/* SPDX-License-Identifier: MIT */
/*
 * Copies the files of reviewed directories from one workspace to another, for clones, forks and
 * snapshots. What a guest has changed in a reviewed directory is in a layer on its disk. The layer
 * means something only together with the image below it, and the guest finds the layer by its name.
 * So whatever has a copy of the disk gets copies of the image, of its list and of the name.
 *
 * The copies are reflinks where the file system has them, and never hard links: a live supervisor
 * can write to the files of its workspace, so no other workspace may share a file with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/sync.h"
#include "channel/hasher.h"
#include "contract/request.h"
#include "store/record_digest.h"
#include "store/review_files.h"

static bool is_review(const json_t *config, const char *name)
{
	const json_t *bundle;
	size_t i;

	json_array_foreach(json_object_get(config, "bundles"), i, bundle)
	{
		if (strcmp(json_text(bundle, "name", ""), name) == 0)
			return bundle_kind(bundle) == BUNDLE_REVIEW;
	}
	return false;
}

json_t *reviews_describe(const struct workspace *ws, struct error *err)
{
	json_auto_t *record = workspace_read_accepted(ws, "workspace.json", err);
	json_auto_t *reviews = json_array();
	const json_t *artifacts = json_object_get(record, "artifacts"), *entry;
	size_t i;

	if (!record)
		return NULL;
	json_array_foreach(json_object_get(artifacts, "bundles"), i, entry)
	{
		const char *name = json_text(entry, "name", "");
		char upper[UPPER_TEXT];

		if (!is_review(json_object_get(record, "config"), name))
			continue;
		if (review_read_upper(ws->fd, name, upper, err) < 0)
			return NULL;
		json_array_append_new(
			reviews, json_pack("{s:s, s:s, s:O?, s:O?}", "name", name, "upper", upper,
					   "sha256", json_object_get(entry, "sha256"), "diskSHA256",
					   json_object_get(entry, "diskSHA256")));
	}
	if (!reviews)
		error_errno(err, ENOMEM, "reviews");
	return steal_ptr(&reviews);
}

/* Opens a file of a review. Returns a descriptor, which the caller closes, or -1 with an error, whose
 * errnum is ENOENT if there is no such file. */
static int open_file(int dir, const char *name, struct error *err)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_CONFLICT,
			"%s is not a regular file, so it is not what microagent made: make the machine anew",
			name);
	return steal_fd(&fd);
}

static int require_digest(int fd, const char *name, const char *digest, struct error *err)
{
	char found[DIGEST_TEXT];

	if (digest_of(fd, DIGEST_FILE, found, err) < 0)
		return error_prefix(err, "%s", name);
	if (strcmp(found, digest) == 0)
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"%s is not the file that was recorded, so what the guest has changed cannot be compared with it: make the machine anew",
		name);
}

/* The two files of a review that have digests, and the members that describe them. */
static const struct {
	const char *suffix, *key;
} digested[] = {{REVIEW_DISK, "diskSHA256"}, {REVIEW_LIST, "sha256"}};

static int require_file(const json_t *review, size_t which, int dir, struct error *err)
{
	char name[BUNDLE_FILE_NAME];
	struct error why = {0};

	review_file_name(json_text(review, "name", ""), digested[which].suffix, name);
	autoclose int fd = open_file(dir, name, &why);
	if (fd < 0)
		return why.errnum == ENOENT ? 0 : error_copy(err, &why);
	return require_digest(fd, name, json_text(review, digested[which].key, ""), err);
}

int reviews_require(const json_t *reviews, int dir, struct error *err)
{
	const json_t *review;
	size_t i;

	json_array_foreach(reviews, i, review)
	{
		for (size_t which = 0; which < ARRAY_SIZE(digested); which++)
			if (require_file(review, which, dir, err) < 0)
				return -1;
	}
	return 0;
}

/* Copies one file, and requires that the copy has the described digest. The live supervisor of the
 * source may have written to the source, and a guest may have taken the supervisor over. */
static int copy_file(const json_t *review, size_t which, int from, int to, enum store_sync sync,
		     struct error *err)
{
	char name[BUNDLE_FILE_NAME];
	autoclose int source = -1, copy = -1;

	review_file_name(json_text(review, "name", ""), digested[which].suffix, name);
	source = open_file(from, name, err);
	if (source < 0 || clone_with_digest(source, to, name, NULL, err) < 0)
		return -1;
	copy = open_file(to, name, err);
	if (copy < 0)
		return -1;
	if (sync == STORE_SYNC && file_sync(copy) < 0)
		return error_errno(err, errno, "%s", name);
	return require_digest(copy, name, json_text(review, digested[which].key, ""), err);
}

int reviews_copy(const json_t *reviews, int from, int to, enum store_sync sync, struct error *err)
{
	const json_t *review;
	size_t i;

	json_array_foreach(reviews, i, review)
	{
		for (size_t which = 0; which < ARRAY_SIZE(digested); which++)
			if (copy_file(review, which, from, to, sync, err) < 0)
				return -1;
		if (review_write_upper(to, json_text(review, "name", ""),
				       json_text(review, "upper", ""), err) < 0)
			return -1;
	}
	return 0;
}

int reviews_move(const json_t *reviews, int from, int to, struct error *err)
{
	static const char *const suffixes[] = {REVIEW_DISK, REVIEW_LIST, REVIEW_UPPER};
	const json_t *review;
	size_t i;

	json_array_foreach(reviews, i, review)
	{
		for (size_t which = 0; which < ARRAY_SIZE(suffixes); which++) {
			char name[BUNDLE_FILE_NAME];

			review_file_name(json_text(review, "name", ""), suffixes[which], name);
			if (renameat(from, name, to, name) < 0)
				return error_errno(err, errno, "%s", name);
		}
	}
	return 0;
}
