/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "store/guest_bundle_impl.h"

struct making {
	const char *dir; /* path of the bundle's directory, for messages */
	int dir_fd;
	json_t *entries; /* array of the manifest's entries */
	json_t *told;	 /* array of the answer's entries */
	const struct guest_bundle_watch *watch;
};

/* Copies the file `from` of the cache to <part>/<name><suffix> in the bundle, and adds an object
 * about the copy to `files`. `wanted` is the recorded digest that the copy must have. */
static int pack_file(struct making *m, const struct bundle_file *file, const char *name,
		     const char *from, const char *wanted, json_t *files, struct error *err)
{
	autobuf struct buf to = BUF_INIT(0);
	json_auto_t *entry = json_object();
	char sha[SHA256_TEXT];
	struct stat st;

	if (buf_printf(&to, err, "%s/%s%s", bundle_parts[file->part], name, file->suffix) < 0)
		return -1;
	autoclose int source = open(from, O_RDONLY | O_CLOEXEC);
	if (source < 0)
		return error_errno(err, errno, "%s", from);
	if (path_clone_with_room_at(source, m->dir_fd, buf_string(&to), 0644, 0, err) < 0)
		return error_prefix(err, "%s", from);
	autoclose int copy = openat(m->dir_fd, buf_string(&to), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (copy < 0 || fstat(copy, &st) < 0)
		return error_errno(err, errno, "%s/%s", m->dir, buf_string(&to));
	if (bundle_hash(copy, m->watch, buf_string(&to), sha, err) < 0)
		return error_prefix(err, "%s/%s", m->dir, buf_string(&to));
	if (strcmp(sha, wanted) != 0)
		return error_set(
			err, ERR_INVALID,
			"%s differs from the cache's record of it, so it is damaged: build or install it again",
			from);
	if (json_put_string(entry, "file", buf_string(&to), err) < 0 ||
	    json_put(entry, "sizeBytes", json_integer(st.st_size), err) < 0 ||
	    json_put_string(entry, "sha256", sha, err) < 0)
		return -1;
	return json_array_append(files, entry) < 0 ? error_errno(err, ENOMEM, "manifest") : 0;
}

/* Copies the files of an entry. `path` is the path of the entry's file without a suffix. */
static int pack_files(struct making *m, enum cache_part part, const char *name, const char *path,
		      const json_t *record, json_t *files, struct error *err)
{
	for (size_t i = 0; i < BUNDLE_FILES; i++) {
		const struct bundle_file *file = &bundle_files[i];
		const char *wanted = json_text(record, file->digest, NULL);
		autobuf struct buf from = BUF_INIT(0);

		if (file->part != part || (!wanted && !file->required))
			continue;
		if (!wanted)
			return error_set(
				err, ERR_INVALID,
				"the cache's record of %s has no digest of %s%s: build or install it again",
				name, name, file->suffix);
		if (buf_printf(&from, err, "%s%s", path, file->suffix) < 0 ||
		    pack_file(m, file, name, buf_string(&from), wanted, files, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_packed(const json_t *told, enum cache_part part, const char *name)
{
	json_t *entry;
	size_t i;

	json_array_foreach(told, i, entry)
	{
		if (strcmp(json_text(entry, "part", ""), bundle_parts[part]) == 0 &&
		    strcmp(json_text(entry, "name", ""), name) == 0)
			return true;
	}
	return false;
}

static int pack_entry(struct making *m, enum cache_part part, const char *name, const char *path,
		      struct error *err)
{
	json_auto_t *entry = json_object(), *files = json_array(), *record = NULL, *told = NULL;

	if (is_packed(m->told, part, name))
		return 0;
	record = bundle_record(AT_FDCWD, path, err);
	if (!record || pack_files(m, part, name, path, record, files, err) < 0 ||
	    !(told = bundle_tell(part, name, record, err)) ||
	    json_put_string(entry, "part", bundle_parts[part], err) < 0 ||
	    json_put(entry, "record", json_incref(record), err) < 0 ||
	    json_put(entry, "files", json_incref(files), err) < 0)
		return -1;
	if (json_array_append(m->entries, entry) < 0 || json_array_append(m->told, told) < 0)
		return error_errno(err, ENOMEM, "manifest");
	return 0;
}

static int not_of_cache(const char *name, struct error *err)
{
	return error_set(
		err, ERR_INVALID,
		"%s is not in the cache, and a bundle is made of entries of the cache: name one of them",
		name);
}

static int pack_kernel(struct making *m, const char *name, enum architecture architecture,
		       struct error *err)
{
	struct cache_kernel kernel = {0};
	int result;

	if (cache_kernel_find(name, architecture, &kernel, err) < 0)
		return -1;
	result = kernel.cached ? pack_entry(m, CACHE_KERNELS, kernel.name, kernel.path, err)
			       : not_of_cache(kernel.name, err);
	cache_kernel_free(&kernel);
	return result;
}

static int pack_image(struct making *m, const char *name, enum architecture architecture,
		      struct error *err)
{
	struct cache_image image = {0};
	autofree char *path = NULL;
	int result = -1;

	if (cache_image_find(name, architecture, &image, err) < 0)
		return -1;
	path = strndup(image.path, strlen(image.path) - strlen(".ext4"));
	if (!image.cached)
		not_of_cache(image.name, err);
	else if (!path)
		error_errno(err, ENOMEM, "%s", name);
	else
		result = pack_entry(m, CACHE_IMAGES, image.name, path, err);
	cache_image_free(&image);
	return result;
}

typedef int pack_fn(struct making *m, const char *name, enum architecture architecture,
		    struct error *err);

/* Packs the entry `name` for each wanted architecture. Skips an architecture that has no such
 * entry. Fails if no wanted architecture has one. If `name` is NULL, packs the default entry of
 * each architecture. */
static int pack_name(struct making *m, pack_fn *pack, const char *name, enum architecture wanted,
		     struct error *err)
{
	struct error why = {0};
	bool found = false;

	for (int a = 0; a < ARCHITECTURE_COUNT; a++) {
		struct error here = {0};

		if (wanted != ARCHITECTURE_COUNT && a != (int)wanted)
			continue;
		if (pack(m, name, (enum architecture)a, &here) == 0)
			found = true;
		else if (here.code != ERR_NOT_FOUND && here.code != ERR_UNSUPPORTED)
			return error_copy(err, &here);
		else if (why.code == ERR_NONE)
			why = here;
	}
	return found ? 0 : error_copy(err, &why);
}

static int pack_names(struct making *m, pack_fn *pack, const char *const *names, size_t count,
		      enum architecture wanted, struct error *err)
{
	if (!count)
		return pack_name(m, pack, NULL, wanted, err);
	for (size_t i = 0; i < count; i++)
		if (pack_name(m, pack, names[i], wanted, err) < 0)
			return -1;
	return 0;
}

static int write_manifest(struct making *m, char sha[SHA256_TEXT], struct error *err)
{
	json_auto_t *manifest = json_object();
	autobuf struct buf lines = BUF_INIT(0);
	autofree char *text = NULL;

	if (json_put(manifest, "format", json_integer(BUNDLE_FORMAT), err) < 0 ||
	    json_put_string(manifest, "version", MICROAGENT_VERSION, err) < 0 ||
	    json_put(manifest, "entries", json_incref(m->entries), err) < 0 ||
	    !(text = json_pretty(manifest, err)) || buf_printf(&lines, err, "%s\n", text) < 0 ||
	    path_replace_file_at(m->dir_fd, BUNDLE_MANIFEST, buf_bytes(&lines), lines.len, 0644,
				 PATH_SYNC, err) < 0)
		return -1;
	autoclose int fd = openat(m->dir_fd, BUNDLE_MANIFEST, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return error_errno(err, errno, "%s/" BUNDLE_MANIFEST, m->dir);
	return bundle_hash(fd, m->watch, BUNDLE_MANIFEST, sha, err);
}

static int pack_all(struct making *m, const struct guest_bundle_spec *spec, char sha[SHA256_TEXT],
		    struct error *err)
{
	for (size_t i = 0; i < 2; i++)
		if (mkdirat(m->dir_fd, bundle_parts[i], 0755) < 0)
			return error_errno(err, errno, "%s/%s", m->dir, bundle_parts[i]);
	if (pack_names(m, pack_kernel, spec->kernels, spec->kernel_count, spec->architecture, err) <
		    0 ||
	    pack_names(m, pack_image, spec->images, spec->image_count, spec->architecture, err) < 0)
		return -1;
	return write_manifest(m, sha, err);
}

/* Sets the error for a directory that cannot be used. If the directory has files of a bundle but no
 * manifest, the message says that it may be an incomplete bundle, because the manifest is written
 * last. */
static int refuse_directory(const char *dir, int why, struct error *err)
{
	autofree char *manifest = path_join(dir, BUNDLE_MANIFEST, err);
	autofree char *kernels = path_join(dir, bundle_parts[CACHE_KERNELS], err);
	bool half = manifest && kernels && access(manifest, F_OK) < 0 && access(kernels, F_OK) == 0;

	if (why != EEXIST)
		return error_errno(err, why, "%s", dir);
	return error_set(
		err, ERR_CONFLICT, "%s is there already%s", dir,
		half ? ": it is half of a bundle, and the command that made it was killed; remove it"
		     : ": a bundle needs a new directory");
}

int guest_bundle_make(const char *dir, const struct guest_bundle_spec *spec,
		      const struct guest_bundle_watch *watch, json_t **out, struct error *err)
{
	json_auto_t *entries = json_array(), *told = json_array();
	struct making m = {.dir = dir, .entries = entries, .told = told, .watch = watch};
	char sha[SHA256_TEXT];
	struct error ignored;

	if (mkdir(dir, 0755) < 0)
		return refuse_directory(dir, errno, err);
	autoclose int fd = path_open_dir(dir, err);
	m.dir_fd = fd;
	json_t *answer = fd < 0 || pack_all(&m, spec, sha, err) < 0
				 ? NULL
				 : bundle_answer(dir, sha, told, err);
	if (!answer) {
		(void)path_remove_tree_at(AT_FDCWD, dir, &ignored);
		return -1;
	}
	*out = answer;
	return 0;
}
