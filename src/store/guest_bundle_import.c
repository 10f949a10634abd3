/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "store/cache_write.h"
#include "store/guest_bundle_impl.h"
#include "store/store.h"

/* The name of the lock that each program takes before it replaces a kernel's files in the cache. */
#define LOCK "kernels"
#define SCRATCH "guest-bundle"
#define LOOK_NS (200 * NS_PER_MS)

/* The state of an import. The files are first copied to scratch/<part>/<file>. The files are
 * published only after all copies were checked. */
struct taking {
	const char *dir; /* path of the bundle's directory, for messages */
	int dir_fd, cache_fd, lock_fd, scratch_fd;
	enum architecture wanted;
	const struct guest_bundle_watch *watch;
	json_t *told;
};

/* An entry of the manifest that was checked. */
struct bundle_entry {
	enum cache_part part;
	const char *name;
	json_t *record, *files;
	enum architecture architecture;
};

/* --- the manifest ---------------------------------------------------------------------------- */

static int decode_part(const char *text, enum cache_part *out, struct error *err)
{
	for (size_t i = 0; i < 2; i++)
		if (strcmp(text, bundle_parts[i]) == 0) {
			*out = (enum cache_part)i;
			return 0;
		}
	return error_set(
		err, ERR_INVALID,
		"the entry is for a part of the cache that this version of microagent does not know: use a newer version");
}

/* Checks that the cache allows the name of an entry. The name must have the suffix of the entry's
 * architecture, and must not end like the name of another file of an entry. */
static int check_entry_name(const struct bundle_entry *e, struct error *err)
{
	autofree char *whole = cache_entry_name(e->name, e->architecture, err);
	static const char *const ends[] = {".initrd", ".json", ".modules", ".vmlinux", ".ext4"};
	size_t len = strlen(e->name);

	if (!whole)
		return -1;
	if (!path_is_safe_basename(e->name) || e->name[0] == '.' || strcmp(whole, e->name) != 0)
		return error_set(
			err, ERR_INVALID,
			"\"%.100s\" cannot be the name of an entry for %s: make the bundle again",
			e->name, architecture_name(e->architecture));
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (len >= strlen(ends[i]) && strcmp(e->name + len - strlen(ends[i]), ends[i]) == 0)
			return error_set(
				err, ERR_INVALID,
				"\"%.100s\" cannot be the name of an entry: make the bundle again",
				e->name);
	return 0;
}

static int decode_bundle_entry(json_t *object, struct bundle_entry *out, struct error *err)
{
	struct bundle_entry e = {0};
	const char *part = "", *architecture = "";

	if (json_get_string(object, "", "part", JSON_REQUIRED, &part, err) < 0 ||
	    json_get_object(object, "", "record", JSON_REQUIRED, &e.record, err) < 0 ||
	    json_get_array(object, "", "files", JSON_REQUIRED, &e.files, err) < 0 ||
	    json_get_string(e.record, "record", "name", JSON_REQUIRED, &e.name, err) < 0 ||
	    json_get_string(e.record, "record", "architecture", JSON_REQUIRED, &architecture, err) <
		    0 ||
	    decode_part(part, &e.part, err) < 0)
		return -1;
	e.architecture = architecture_from_name(architecture);
	if (e.architecture == ARCHITECTURE_COUNT)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the architecture of %.100s is unknown: use a newer version of microagent",
			e.name);
	if (check_entry_name(&e, err) < 0 || cache_record_check(e.part, e.name, e.record, err) < 0)
		return -1;
	*out = e;
	return 0;
}

static json_t *load_manifest(const struct taking *t, const char *sha256, char sha[SHA256_TEXT],
			     struct error *err)
{
	autobuf struct buf text = BUF_INIT(BUNDLE_MANIFEST_BYTES);
	uint8_t digest[SHA256_BYTES];
	struct sha256 state;
	int64_t format = 0;

	if (path_read_file_at(t->dir_fd, BUNDLE_MANIFEST, &text, err) < 0) {
		error_prefix(err, "the directory is not a guest bundle");
		return NULL;
	}
	sha256_init(&state);
	sha256_update(&state, buf_bytes(&text), text.len);
	sha256_final(&state, digest);
	sha256_hex(digest, sha);
	if (sha256 && strcmp(sha, sha256) != 0) {
		error_set(err, ERR_INVALID,
			  BUNDLE_MANIFEST " has the digest %s, not %.64s: fetch the bundle again",
			  sha, sha256);
		return NULL;
	}
	json_t *manifest = json_load_strict(buf_bytes(&text), text.len, err);
	if (manifest && json_get_int(manifest, "", "format", JSON_REQUIRED, BUNDLE_FORMAT,
				     BUNDLE_FORMAT, &format, err) == 0)
		return manifest;
	json_decref(manifest);
	error_prefix(err, BUNDLE_MANIFEST);
	return NULL;
}

/* --- the files ------------------------------------------------------------------------------- */

/* Returns the object in the manifest about the file `file`, or NULL if the manifest has no such
 * object. */
static json_t *find_file(const struct bundle_entry *e, const char *file)
{
	json_t *item;
	size_t i;

	json_array_foreach(e->files, i, item)
	{
		if (strcmp(json_text(item, "file", ""), file) == 0)
			return item;
	}
	return NULL;
}

static int check_kernel_file(int fd, const struct bundle_entry *e, struct error *err)
{
	enum architecture own;
	bool is_kernel;

	if (architecture_read_kernel(fd, &is_kernel, &own, err) < 0)
		return -1;
	if (!is_kernel)
		return error_set(
			err, ERR_INVALID,
			"the file is named as a kernel, but is not a kernel: make the bundle again");
	if (own != ARCHITECTURE_COUNT && own != e->architecture)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the kernel is for %s, but the manifest says %s: make the bundle again",
			architecture_name(own), architecture_name(e->architecture));
	return 0;
}

/* Checks that the copy `fd` has the size and the digest in the manifest. The file in the bundle is
 * not checked, because it may change after the check, and only the copy will be used. */
static int check_copy(const struct taking *t, int fd, const struct bundle_file *file,
		      const struct bundle_entry *e, json_t *said, struct error *err)
{
	const json_t *size = json_object_get(e->record, "sizeBytes");
	char sha[SHA256_TEXT];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "size");
	if (json_integer_value(json_object_get(said, "sizeBytes")) != (json_int_t)st.st_size)
		return error_set(
			err, ERR_INVALID,
			"the file does not have the size that the manifest says: fetch the bundle again");
	if (e->part == CACHE_IMAGES && json_integer_value(size) != (json_int_t)st.st_size)
		return error_set(
			err, ERR_INVALID,
			"the file is damaged, because it does not have the size that its record says: fetch the bundle again");
	if (bundle_hash(fd, t->watch, json_text(said, "file", ""), sha, err) < 0)
		return -1;
	if (strcmp(sha, json_text(said, "sha256", "")) != 0)
		return error_set(
			err, ERR_INVALID,
			"the file is damaged, because it does not have the digest that the manifest says: fetch the bundle again");
	if (strcmp(sha, json_text(e->record, file->digest, "")) != 0)
		return error_set(
			err, ERR_INVALID,
			"the file is damaged, because it does not have the digest that its record says: fetch the bundle again");
	return e->part == CACHE_KERNELS && !*file->suffix ? check_kernel_file(fd, e, err) : 0;
}

static int copy_and_check(const struct taking *t, const char *path, const struct bundle_file *file,
			  const struct bundle_entry *e, json_t *said, struct error *err)
{
	/* O_NONBLOCK is needed because a FIFO in place of the file would block this process, which
	 * holds a lock of the cache. */
	autoclose int from =
		openat(t->dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (from < 0 && errno == ELOOP)
		return error_set(
			err, ERR_INVALID,
			"%s/%s is a symbolic link, and a guest bundle has none: put the file itself there",
			t->dir, path);
	if (from < 0)
		return error_errno(err, errno, "%s/%s", t->dir, path);
	if (path_clone_with_room_at(from, t->scratch_fd, path, 0600, 0, err) < 0)
		return error_prefix(err, "%s/%s", t->dir, path);
	autoclose int copy = openat(t->scratch_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (copy < 0)
		return error_errno(err, errno, "%s", path);
	return check_copy(t, copy, file, e, said, err) < 0
		       ? error_prefix(err, "%s/%s", t->dir, path)
		       : 0;
}

static int take_files(const struct taking *t, const struct bundle_entry *e, struct error *err)
{
	for (size_t i = 0; i < BUNDLE_FILES; i++) {
		const struct bundle_file *file = &bundle_files[i];
		autobuf struct buf path = BUF_INIT(0);

		if (file->part != e->part)
			continue;
		if (buf_printf(&path, err, "%s/%s%s", bundle_parts[e->part], e->name,
			       file->suffix) < 0)
			return -1;
		json_t *said = find_file(e, buf_string(&path));
		if (!said && (file->required || json_text(e->record, file->digest, NULL)))
			return error_set(
				err, ERR_INVALID,
				"%s is not a whole guest bundle, because its manifest has no %s: fetch the bundle again",
				t->dir, buf_string(&path));
		if (said && copy_and_check(t, buf_string(&path), file, e, said, err) < 0)
			return -1;
	}
	return 0;
}

/* --- publication ----------------------------------------------------------------------------- */

static int publish_parts(const struct cache_writing *w, const struct bundle_entry *e,
			 struct error *err)
{
	for (size_t i = 0; i < BUNDLE_FILES; i++) {
		autobuf struct buf file = BUF_INIT(0);

		if (bundle_files[i].part != e->part)
			continue;
		if (buf_printf(&file, err, "%s%s", e->name, bundle_files[i].suffix) < 0)
			return -1;
		if (faccessat(w->scratch_fd, buf_string(&file), F_OK, 0) == 0) {
			if (cache_publish(w, buf_string(&file), e->name, bundle_files[i].suffix,
					  err) < 0)
				return -1;
		} else if (unlinkat(w->dir_fd, buf_string(&file), 0) < 0 && errno != ENOENT) {
			return error_errno(err, errno, "remove %s", buf_string(&file));
		}
	}
	if (e->part != CACHE_KERNELS)
		return 0;
	/* The modules of an older entry with this name are removed. Otherwise the next initrd that
	 * is made for this entry would contain them. */
	autobuf struct buf modules = BUF_INIT(0);
	if (buf_printf(&modules, err, "%s.modules", e->name) < 0)
		return -1;
	if (unlinkat(w->dir_fd, buf_string(&modules), 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, "remove %s", buf_string(&modules));
	return 0;
}

/* If an older entry has the same name, adds its digest to the answer as "replacedSha256". If the
 * older entry's record cannot be read, adds nothing. */
static int tell_replaced(int dir, const struct bundle_entry *e, json_t *told, struct error *err)
{
	struct error ignored;
	json_auto_t *before = bundle_record(dir, e->name, &ignored);
	const char *was = json_text(before, "sha256", ""), *is = json_text(told, "sha256", "");

	return !*was || strcmp(was, is) == 0 ? 0
					     : json_put_string(told, "replacedSha256", was, err);
}

static int publish_entry(const struct taking *t, const struct bundle_entry *e, struct error *err)
{
	/* The members of a record that are left out, because the bundle cannot prove them. With the
	 * digests in them, the entry would count as an image or kernel that this host has imported
	 * or built. With "source", it would look as if this host had fetched the image from
	 * there. */
	static const char *const origin[] = {"recipeSha256", "packageSha256", "configSha256",
					     "source"};
	autoclose int dir = path_open_dir_at(t->cache_fd, bundle_parts[e->part], true, 0700, err);
	autoclose int scratch =
		dir < 0 ? -1
			: path_open_dir_at(t->scratch_fd, bundle_parts[e->part], false, 0, err);
	const struct cache_writing w = {bundle_parts[e->part], SCRATCH, dir, scratch};
	json_auto_t *told = NULL, *record = json_copy(e->record);

	if (scratch < 0)
		return -1;
	if (!record)
		return error_errno(err, ENOMEM, "record");
	for (size_t i = 0; i < ARRAY_SIZE(origin); i++)
		json_object_del(record, origin[i]);
	if (e->part == CACHE_KERNELS && json_put(record, "bundled", json_true(), err) < 0)
		return -1;
	if (!(told = bundle_tell(e->part, e->name, e->record, err)) ||
	    tell_replaced(dir, e, told, err) < 0 || cache_withdraw(&w, e->name, err) < 0 ||
	    publish_parts(&w, e, err) < 0 || cache_record(&w, e->name, record, err) < 0)
		return -1;
	return json_array_append(t->told, told) < 0 ? error_errno(err, ENOMEM, "answer") : 0;
}

/* --- the whole import ------------------------------------------------------------------------ */

typedef int entry_fn(const struct taking *t, const struct bundle_entry *e, struct error *err);

/* Calls `fn` for each entry that is for the wanted architecture, and adds 1 to *count for each of
 * them. If the bundle has entries for another architecture, sets *others to the name of this
 * architecture, such as "amd64". */
static int each_entry(const struct taking *t, json_t *entries, entry_fn *fn, size_t *count,
		      const char **others, struct error *err)
{
	json_t *object;
	size_t i;

	json_array_foreach(entries, i, object)
	{
		struct bundle_entry e;

		if (decode_bundle_entry(object, &e, err) < 0)
			return error_prefix(err, "%s/" BUNDLE_MANIFEST ": entries[%zu]", t->dir, i);
		if (e.architecture != t->wanted) {
			*others = architecture_name(e.architecture);
			continue;
		}
		++*count;
		if (fn(t, &e, err) < 0)
			return -1;
	}
	return 0;
}

static int take_lock(int cache, const struct guest_bundle_watch *watch, struct error *err)
{
	struct error why = {0};
	autoclose int dir = path_open_dir_at(cache, ".locks", true, 0700, err);
	autoclose int fd =
		dir < 0 ? -1 : openat(dir, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (dir < 0)
		return -1;
	if (fd < 0)
		return error_errno(err, errno, "the cache's lock");
	while (flock_until(fd, LOCK_EX, clock_mono_ns() + LOOK_NS, "the cache", &why) < 0) {
		if (why.code != ERR_TIMEOUT)
			return error_copy(err, &why);
		if (bundle_look(watch, "another command is using the cache", err) < 0)
			return -1;
	}
	return steal_fd(&fd);
}

static int open_taking(struct taking *t, struct error *err)
{
	autoclose int tmp = -1;

	t->cache_fd = cache_open(true, err);
	t->lock_fd = t->cache_fd < 0 ? -1 : take_lock(t->cache_fd, t->watch, err);
	if (t->lock_fd < 0)
		return -1;
	tmp = path_open_dir_at(t->cache_fd, "tmp", true, 0700, err);
	if (tmp < 0 || path_remove_tree_at(tmp, SCRATCH, err) < 0)
		return -1;
	t->scratch_fd = path_open_dir_at(tmp, SCRATCH, true, 0700, err);
	if (t->scratch_fd < 0)
		return -1;
	for (size_t i = 0; i < 2; i++)
		if (mkdirat(t->scratch_fd, bundle_parts[i], 0700) < 0)
			return error_errno(err, errno, "%s", bundle_parts[i]);
	return 0;
}

static int take_bundle(struct taking *t, const char *sha256, char sha[SHA256_TEXT],
		       struct error *err)
{
	json_auto_t *manifest = load_manifest(t, sha256, sha, err);
	json_t *entries = NULL;
	const char *others = NULL;
	size_t count = 0;

	if (!manifest)
		return error_prefix(err, "%s", t->dir);
	if (json_get_array(manifest, "", "entries", JSON_REQUIRED, &entries, err) < 0)
		return error_prefix(err, "%s/" BUNDLE_MANIFEST, t->dir);
	if (each_entry(t, entries, take_files, &count, &others, err) < 0)
		return -1;
	if (!count)
		return error_set(err, ERR_UNSUPPORTED, "the guest bundle %s has nothing for %s%s%s",
				 t->dir, architecture_name(t->wanted), others ? ": it is for " : "",
				 others ? others : "");
	return each_entry(t, entries, publish_entry, &count, &others, err);
}

static void close_taking(struct taking *t)
{
	autoclose int tmp =
		t->scratch_fd < 0 ? -1
				  : openat(t->cache_fd, "tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error ignored;

	if (tmp >= 0)
		(void)path_remove_tree_at(tmp, SCRATCH, &ignored);
	cleanup_close(&t->scratch_fd);
	cleanup_close(&t->lock_fd);
	cleanup_close(&t->cache_fd);
	cleanup_close(&t->dir_fd);
}

int guest_bundle_import(const char *dir, enum architecture architecture, const char *sha256,
			const struct guest_bundle_watch *watch, json_t **out, struct error *err)
{
	json_auto_t *told = json_array();
	struct taking t = {.dir = dir,
			   .dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			   .cache_fd = -1,
			   .lock_fd = -1,
			   .scratch_fd = -1,
			   .wanted = architecture,
			   .watch = watch,
			   .told = told};
	char sha[SHA256_TEXT];
	json_t *answer = NULL;

	if (t.dir_fd < 0 && errno == ENOTDIR)
		return error_set(err, ERR_INVALID,
				 "%s is not a directory: if it is an archive, unpack it first",
				 dir);
	if (t.dir_fd < 0)
		return error_errno(err, errno, "%s", dir);
	if (open_taking(&t, err) == 0 && take_bundle(&t, sha256, sha, err) == 0)
		answer = bundle_answer(dir, sha, told, err);
	close_taking(&t);
	if (!answer)
		return -1;
	*out = answer;
	return 0;
}
