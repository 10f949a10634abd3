/* SPDX-License-Identifier: MIT */
/*
 * A reviewed directory, and the upper layer of a guest, for the tests of src/store/review. The tests
 * write the upper layer and its claims by hand, as root in a guest can.
 */
#ifndef REVIEW_FIXTURE_H
#define REVIEW_FIXTURE_H

#include "test_base.h"

#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/platform/file.h"
#include "store/review/claims.h"
#include "store/review/compare.h"
#include "store/review/dirs.h"

struct bed {
	const struct scratch *s;
	int host, tree; /* the reviewed directory, and the copy of the upper layer */
	struct buf claims;
	struct review_list list;
	struct review_claims read;
	struct review_changes changes;
};

static inline int bed_dir(const struct scratch *s, const char *name)
{
	assert_true(mkdirat(s->fd, name, 0755) == 0 || errno == EEXIST);
	int fd = openat(s->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static inline void bed_begin(struct bed *bed, void **state)
{
	*bed = (struct bed){.s = *state};
	umask(022);
	bed->host = bed_dir(bed->s, "host");
	bed->tree = bed_dir(bed->s, "tree");
}

static inline void bed_end(struct bed *bed)
{
	close(bed->host);
	close(bed->tree);
	buf_free(&bed->claims);
	review_list_free(&bed->list);
	review_claims_free(&bed->read);
	review_changes_free(&bed->changes);
}

/* --- files ----------------------------------------------------------------------------------- */

static inline void put_bytes(int dir, const char *path, const void *bytes, size_t len, mode_t mode)
{
	struct error err = {0};

	assert_ok(path_replace_file_at(dir, path, bytes, len, mode, PATH_NO_SYNC, &err));
}
static inline void put_file(int dir, const char *path, const char *text, mode_t mode)
{
	put_bytes(dir, path, text, strlen(text), mode);
}
static inline void put_dir(int dir, const char *path, mode_t mode)
{
	assert_int_equal(mkdirat(dir, path, 0700), 0);
	assert_int_equal(fchmodat(dir, path, mode, 0), 0);
}

/* Checks the contents of a file; NULL: it does not exist. */
static inline void check_file(int dir, const char *path, const char *text)
{
	autobuf struct buf got = BUF_INIT(0);
	struct error err = {0};
	struct stat st;

	if (!text) {
		if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			fail_msg("%s exists", path);
		return;
	}
	if (path_read_file_at(dir, path, &got, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(buf_string(&got), text);
}
static inline void check_mode(int dir, const char *path, mode_t mode)
{
	struct stat st;

	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		fail_msg("%s does not exist", path);
	if ((st.st_mode & 07777) != mode)
		fail_msg("%s has the mode %o and not %o", path, (unsigned)st.st_mode & 07777,
			 (unsigned)mode);
}

/* Appends each file of a directory: its type, mode, path and contents. */
static inline void describe_dir(int fd, const char *parent, struct buf *out)
{
	struct dirent **names = NULL;
	autofree char *self = NULL;
	struct error err = {0};
	int count;

	assert_true(asprintf(&self, "/proc/self/fd/%d", fd) > 0);
	count = scandir(self, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		autobuf struct buf text = BUF_INIT(0);
		autofree char *path = NULL;
		char target[256] = "";
		struct stat st;

		assert_true(asprintf(&path, "%s%s%s", parent, *parent ? "/" : "", name) > 0);
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
			free(names[i]);
			continue;
		}
		assert_int_equal(fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
		if (S_ISREG(st.st_mode))
			assert_ok(path_read_file_at(fd, name, &text, &err));
		if (S_ISLNK(st.st_mode))
			assert_true(readlinkat(fd, name, target, sizeof(target) - 1) > 0);
		assert_ok(buf_printf(out, &err, "%o %s %s%s\n", (unsigned)st.st_mode, path,
				     buf_string(&text), target));
		if (S_ISDIR(st.st_mode)) {
			autoclose int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			describe_dir(below, path, out);
		}
		free(names[i]);
	}
	free(names);
}

/* --- the list -------------------------------------------------------------------------------- */

struct bed_record {
	char *path, *text;
};

static inline int bed_by_path(const void *a, const void *b)
{
	return strcmp(((const struct bed_record *)a)->path, ((const struct bed_record *)b)->path);
}

struct bed_walk {
	struct bed_record *records;
	size_t count;
};

static inline int64_t bed_ns(struct timespec time)
{
	return (int64_t)time.tv_sec * (int64_t)NS_PER_S + time.tv_nsec;
}

static inline void bed_walk_dir(struct bed_walk *walk, int fd, const char *parent)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		uint8_t digest[SHA256_BYTES];
		char hex[SHA256_TEXT] = "-", target[4096];
		struct error err = {0};
		struct bed_record record;
		uint64_t size = 0;
		struct stat st;
		char type;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		assert_int_equal(fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
		type = S_ISDIR(st.st_mode)   ? 'd'
		       : S_ISLNK(st.st_mode) ? 'l'
		       : S_ISREG(st.st_mode) ? 'f'
					     : 's';
		if (type == 'f') {
			autoclose int file = openat(fd, entry->d_name, O_RDONLY | O_CLOEXEC);
			assert_ok(review_digest_file(file, digest, &size, &err));
			sha256_hex(digest, hex);
		} else if (type == 'l') {
			ssize_t len = readlinkat(fd, entry->d_name, target, sizeof(target));
			review_digest_bytes(target, (size_t)len, digest);
			sha256_hex(digest, hex);
		}
		assert_true(asprintf(&record.path, "%s%s%s", parent, *parent ? "/" : "",
				     entry->d_name) > 0);
		assert_true(asprintf(&record.text,
				     "%c %o %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64
				     " %" PRIu64 " %s %s",
				     type, (unsigned)st.st_mode & 07777, size,
				     bed_ns(file_modified(&st)), bed_ns(file_changed(&st)),
				     (uint64_t)st.st_dev, (uint64_t)st.st_ino, hex,
				     record.path) > 0);
		walk->records = array_resize(walk->records, walk->count + 1, sizeof(record));
		walk->records[walk->count++] = record;
		if (type == 'd') {
			int below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			autofree char *path = strdup(record.path);
			assert_true(below >= 0);
			bed_walk_dir(walk, below, path);
		}
	}
	closedir(dir);
}

/* Takes the list of the reviewed directory, as review-build does. */
static inline void bed_take(struct bed *bed)
{
	autobuf struct buf text = BUF_INIT(0);
	struct bed_walk walk = {0};
	struct error err = {0};

	bed_walk_dir(&walk, openat(bed->host, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "");
	if (walk.count > 0)
		qsort(walk.records, walk.count, sizeof(*walk.records), bed_by_path);
	assert_ok(buf_append(&text, "microagent-review-list 1", 25, &err));
	for (size_t i = 0; i < walk.count; i++) {
		assert_ok(buf_append(&text, walk.records[i].text, strlen(walk.records[i].text) + 1,
				     &err));
		free(walk.records[i].path);
		free(walk.records[i].text);
	}
	free(walk.records);
	assert_ok(buf_printf(&text, &err, "end %zu", walk.count));
	assert_ok(buf_append(&text, "", 1, &err));
	autoclose int fd = fd_memfd("list", buf_bytes(&text), text.len, &err);
	review_list_free(&bed->list);
	assert_ok(review_list_read(fd, &bed->list, &err));
}

/* --- the upper layer ------------------------------------------------------------------------- */

static inline void claim(struct bed *bed, char type, const char *path, mode_t mode,
			 const char *text)
{
	struct error err = {0};

	assert_ok(review_claims_add(&bed->claims, type, mode, 1, path, text, &err));
}
static inline void upper_file(struct bed *bed, const char *path, const char *text, mode_t mode)
{
	put_file(bed->tree, path, text, 0600);
	claim(bed, 'f', path, mode, NULL);
}
static inline void upper_dir(struct bed *bed, const char *path, mode_t mode)
{
	put_dir(bed->tree, path, 0700);
	claim(bed, 'd', path, mode, NULL);
}
static inline void upper_link(struct bed *bed, const char *path, const char *target)
{
	assert_int_equal(symlinkat(target, bed->tree, path), 0);
	claim(bed, 'l', path, 0777, target);
}
static inline void whiteout(struct bed *bed, const char *path)
{
	claim(bed, 'w', path, 0, NULL);
}
/* Makes a directory that was moved from `from`. */
static inline void upper_moved(struct bed *bed, const char *path, const char *from, mode_t mode)
{
	upper_dir(bed, path, mode);
	claim(bed, 'r', path, 0, from);
}
static inline void upper_opaque(struct bed *bed, const char *path, mode_t mode)
{
	upper_dir(bed, path, mode);
	claim(bed, 'o', path, 0, NULL);
}

/* --- the comparison -------------------------------------------------------------------------- */

static inline void bed_compare_with(struct bed *bed, mode_t mask)
{
	struct error err = {0};
	autoclose int fd = fd_memfd("claims", buf_bytes(&bed->claims), bed->claims.len, &err);

	review_changes_free(&bed->changes);
	review_claims_free(&bed->read);
	assert_ok(review_claims_read(fd, &bed->read, &err));
	const struct review_inputs inputs = {.list = &bed->list,
					     .claims = &bed->read,
					     .tree = bed->tree,
					     .host = bed->host,
					     .umask = mask};
	assert_ok(review_compare(&inputs, &bed->changes, &err));
}
static inline void bed_compare(struct bed *bed)
{
	bed_compare_with(bed, 022);
}

/* Returns the changes as lines: kind, type, path, "< from", "left out", and the state on the host
 * if it is not "same". */
static inline char *bed_describe(const struct bed *bed)
{
	static const char *const kinds[] = {"added",   "changed", "removed",
					    "renamed", "mode",	  "type"};
	static const char *const hosts[] = {"unknown", "same", "done", "conflict"};
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};

	for (size_t i = 0; i < bed->changes.count; i++) {
		const struct review_change *c = &bed->changes.changes[i];

		assert_ok(buf_printf(
			&text, &err, "%s %c %s%s%s%s%s%s\n", kinds[c->kind],
			c->new.type ? c->new.type : c->old.type, c->path, c->from ? " < " : "",
			c->from ? c->from : "", c->left_out ? " (left out)" : "",
			c->left_out || c->host == REVIEW_HOST_SAME ? "" : " ",
			c->left_out || c->host == REVIEW_HOST_SAME ? "" : hosts[c->host]));
	}
	return buf_steal_string(&text, &err);
}

/* Compares, and checks the changes. */
static inline void bed_expect(struct bed *bed, const char *expected)
{
	bed_compare(bed);
	autofree char *text = bed_describe(bed);
	assert_string_equal(text, expected);
}

static inline const struct review_change *bed_change(const struct bed *bed, const char *path)
{
	size_t at = review_changes_find(&bed->changes, path);

	if (at == REVIEW_NONE)
		fail_msg("no change of %s", path);
	return &bed->changes.changes[at];
}

#endif
