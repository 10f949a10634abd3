/* SPDX-License-Identifier: MIT */
/*
 * The command review-build takes a directory for a review (review.h): it writes the image to one
 * descriptor and the list to another one. Images that were made are kept in the cache for the next
 * machine on the same directory. The name of an entry is the digest of what lstat() says of all
 * files, so an entry is used again only while no file has changed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/ext4.h"
#include "artifact/place.h"
#include "artifact/progress.h"
#include "artifact/review.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"

#define IMAGE_SUFFIX ".ext4"
#define LIST_SUFFIX ".list"
#define IMAGE_FILE "image"
#define LIST_FILE "list"
#define ENTRY_NAME (DIGEST_TEXT + 8)

#define BLOCK UINT64_C(4096)
#define MIB (UINT64_C(1) << 20)
#define SLACK (16 * MIB)
/* The bytes of the file system that each file needs beside its contents: the inode, and its part of
 * the directory's blocks. */
#define BYTES_PER_FILE 512
/* The number of left-out files that the answer names. */
#define NAMED 20

/* The file system's UUID and time are fixed, so that the same files always give the same bytes. */
static const char uuid[] = "b0b0b0b0-0000-4000-8001-6d6963726f61";
#define FIXED_TIME 1767225600

static int copy_to(int dir, const char *file, int to, struct error *err)
{
	autoclose int from = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (from < 0)
		return error_errno(err, errno, "%s", file);
	/* The time of the last modification says when an entry was last used. */
	(void)futimens(from, NULL);
	return path_clone_data(from, to, NULL, err);
}

/* Moves a finished file from the scratch directory to the entry `name`. */
static int keep_file(const struct place *place, const char *file, const char *name,
		     const char *suffix, struct error *err)
{
	char entry[ENTRY_NAME];

	snprintf(entry, sizeof(entry), "%s%s", name, suffix);
	return renameat(place->scratch_fd, file, place->dir_fd, entry) < 0
		       ? error_errno(err, errno, "%s", entry)
		       : 0;
}

/* Removes the entries that were not used for the longest time, so that `keep` entries stay. A
 * failure only leaves more entries. */
static void remove_oldest(const struct place *place, uint64_t keep)
{
	for (;;) {
		int copy = openat(place->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		autodir DIR *dir = copy < 0 ? NULL : fdopendir(copy);
		char oldest[ENTRY_NAME] = "", list[ENTRY_NAME];
		struct timespec since = {0};
		const struct dirent *entry;
		uint64_t count = 0;
		struct stat st;

		if (!dir && copy >= 0)
			close(copy);
		while (dir && (entry = readdir(dir))) {
			const char *dot = strrchr(entry->d_name, '.');

			if (!dot || strcmp(dot, IMAGE_SUFFIX) != 0 ||
			    dot - entry->d_name != DIGEST_TEXT - 1 ||
			    fstatat(place->dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			count++;
			if (!*oldest || st.st_mtim.tv_sec < since.tv_sec ||
			    (st.st_mtim.tv_sec == since.tv_sec &&
			     st.st_mtim.tv_nsec < since.tv_nsec)) {
				since = st.st_mtim;
				snprintf(oldest, sizeof(oldest), "%.*s" IMAGE_SUFFIX,
					 DIGEST_TEXT - 1, entry->d_name);
			}
		}
		if (count <= keep)
			return;
		snprintf(list, sizeof(list), "%.*s" LIST_SUFFIX, DIGEST_TEXT - 1, oldest);
		(void)unlinkat(place->dir_fd, list, 0);
		if (unlinkat(place->dir_fd, oldest, 0) < 0)
			return;
	}
}

/* Makes the image and the list in the scratch directory. */
static int make_image(const struct place *place, struct review *review, struct error *err)
{
	const struct rootfs_bounds bounds = {
		.bytes = UINT64_MAX, .count = UINT64_MAX, .text = UINT64_MAX, .straight = true};
	auto_rootfs struct rootfs *fs = rootfs_new(-1, FIXED_TIME, &bounds, err);
	autofree char *file = place_scratch(place, IMAGE_FILE, err);
	struct rootfs_source source;
	autoclose int list = -1;

	if (!fs || !file || review_fill(review, fs, &source, err) < 0)
		return -1;
	const uint64_t files = rootfs_count(fs) + 1;
	uint64_t size = rootfs_bytes(fs) + files * BYTES_PER_FILE + SLACK;
	const struct ext4_spec spec = {.label = "review",
				       .uuid = uuid,
				       .size = (size + size / 32 + MIB - 1) & ~(MIB - 1),
				       .time = FIXED_TIME,
				       .no_lost_found = true,
				       .inodes = files + 64};

	/* e2fsck does not check this file system: that takes longer than to write it, the unit
	 * tests check it, and only the host's own files are in it. */
	if (place_require_space(place, rootfs_bytes(fs), err) < 0 ||
	    ext4_make_empty(&spec, file, err) < 0 || ext4_write(&spec, fs, file, err) < 0)
		return -1;
	list = openat(place->scratch_fd, LIST_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (list < 0)
		return error_errno(err, errno, "%s", LIST_FILE);
	return review_write_list(review, list, err);
}

/* Copies the entry `name` to the two descriptors. Returns 1; 0 if the cache has no such entry. */
static int use_entry(const struct place *place, const char *name, int image, int list,
		     struct error *err)
{
	char file[ENTRY_NAME];
	struct error why = {0};

	/* The image is moved to the cache before the list, and is removed after the list. So an
	 * entry with a list is whole. */
	snprintf(file, sizeof(file), "%s" LIST_SUFFIX, name);
	if (copy_to(place->dir_fd, file, list, &why) < 0)
		return why.errnum == ENOENT ? 0 : error_copy(err, &why);
	snprintf(file, sizeof(file), "%s" IMAGE_SUFFIX, name);
	return copy_to(place->dir_fd, file, image, err) < 0 ? -1 : 1;
}

static json_t *describe(const struct review *review, bool reused, struct error *err)
{
	json_auto_t *left_out = json_array();
	json_t *answer;

	for (size_t i = 0; i < review->count && json_array_size(left_out) < NAMED; i++) {
		const struct review_file *f = &review->files[i];

		if (f->type == 's' &&
		    json_array_append_new(left_out,
					  json_pack("{s:o, s:s}", "path",
						    json_string_lossy(f->path, strlen(f->path)),
						    "why", f->why)) < 0)
			break;
	}
	answer = json_pack("{s:I, s:I, s:O, s:I, s:b}", "files",
			   (json_int_t)(review->count - review->left_out), "bytes",
			   (json_int_t)review->bytes, "leftOut", left_out, "leftOutCount",
			   (json_int_t)review->left_out, "reused", reused);
	if (!answer)
		error_errno(err, ENOMEM, "review");
	return answer;
}

static int descriptor(const char *option, const char *value, struct error *err)
{
	char *end = NULL;
	long fd = value ? strtol(value, &end, 10) : -1;

	if (!value || *end || end == value || fd < 0 || fd > 65535)
		return error_set(err, ERR_INVALID,
				 "review-build needs --%s N, the number of an open descriptor",
				 option);
	return (int)fd;
}

int artifact_review_build(const struct artifact_options *opts, struct error *err)
{
	auto_place struct place place = {0};
	auto_review struct review review = {0};
	int from = descriptor("from-fd", opts->from_fd, err);
	int image = from < 0 ? -1 : descriptor("fd", opts->fd, err);
	int list = image < 0 ? -1 : descriptor("list-fd", opts->list_fd, err);
	char name[DIGEST_TEXT];
	int got;

	if (list < 0)
		return -1;
	progress_stage("looking at the files");
	if (place_open(CACHE_REVIEWS, "review", &place, err) < 0 ||
	    review_walk(from, &review, err) < 0 || review_state(&review, name, err) < 0)
		return -1;
	/* A file that was just changed may change again without a trace in the digest. So a
	 * directory with such a file has no entry in the cache. */
	got = review.unsettled ? 0 : use_entry(&place, name, image, list, err);
	if (got < 0)
		return -1;
	if (got == 0) {
		if (make_image(&place, &review, err) < 0 ||
		    copy_to(place.scratch_fd, IMAGE_FILE, image, err) < 0 ||
		    copy_to(place.scratch_fd, LIST_FILE, list, err) < 0)
			return -1;
		if (!review.unsettled) {
			remove_oldest(&place, limit_get(LIMIT_REVIEWS_KEPT) - 1);
			if (keep_file(&place, IMAGE_FILE, name, IMAGE_SUFFIX, err) < 0 ||
			    keep_file(&place, LIST_FILE, name, LIST_SUFFIX, err) < 0)
				return -1;
		}
	}
	json_auto_t *answer = describe(&review, got > 0, err);
	if (!answer)
		return -1;
	return artifact_answer(opts, answer, err, "the image is %s",
			       got > 0 ? "taken from the cache" : "made");
}
