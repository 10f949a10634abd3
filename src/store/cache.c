/* SPDX-License-Identifier: MIT */
/*
 * Reads the cache. Its records are small JSON files that microagent makes. Unknown keys are
 * skipped, so that an older program can read a newer cache.
 */
#include "store/cache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "store/internal.h"
#include "store/own_dirs.h"

#define RECORD_BYTES 65536

static const char *const kind_names[] = {
	[KERNEL_TUNED] = "tuned",
	[KERNEL_DEBIAN] = "debian",
	[KERNEL_CUSTOM] = "custom",
};
static_assert(ARRAY_SIZE(kind_names) == KERNEL_KIND_COUNT, "a name for every kind");

const char *kernel_kind_name(enum kernel_kind kind)
{
	return kind_names[kind];
}

static enum kernel_kind kernel_kind_from_name(const char *name)
{
	for (size_t i = 0; i < KERNEL_KIND_COUNT; i++)
		if (strcmp(name, kind_names[i]) == 0)
			return (enum kernel_kind)i;
	return KERNEL_CUSTOM;
}

/* Returns the value of an environment variable. Returns NULL if the variable is not set or is
 * empty. */
static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

char *cache_dir(struct error *err)
{
	const char *dir = env("MICROAGENT_CACHE_DIR"), *xdg = env("XDG_CACHE_HOME");
	autofree char *home = home_dir();
	autofree char *path = NULL;

	if (dir)
		return path_absolute(dir, err);
	/* A relative path is ignored, as the XDG specification demands. */
	if (xdg && *xdg == '/') {
		path = path_join(xdg, "microagent", err);
	} else if (home) {
		path = path_join(home, ".cache/microagent", err);
	} else {
		error_set(
			err, ERR_NOT_FOUND,
			"there is no directory for the cache, because neither MICROAGENT_CACHE_DIR nor XDG_CACHE_HOME is set, and there is no home directory: set MICROAGENT_CACHE_DIR");
		return NULL;
	}
	return path ? path_absolute(path, err) : NULL;
}

char *cache_subdir(enum cache_part part, struct error *err)
{
	static const char *const names[] = {
		[CACHE_KERNELS] = "kernels",
		[CACHE_IMAGES] = "images",
		[CACHE_INITRDS] = "initrds",
		[CACHE_REVIEWS] = "reviews",
	};
	autofree char *dir = cache_dir(err);

	return dir ? path_join(dir, names[part], err) : NULL;
}

int cache_open(bool create, struct error *err)
{
	autofree char *dir = cache_dir(err);
	autoclose int fd = -1;

	if (!dir)
		return -1;
	fd = own_dir_open(dir, create, OWN_CACHE, NULL, err);
	if (fd < 0)
		return -1;
	if (create || own_dir_is_marked(fd, OWN_CACHE))
		own_dir_note(fd, OWN_CACHE);
	return steal_fd(&fd);
}

/* Returns the path "<dir>/<name><suffix>". The caller frees the path. */
static char *entry_path(const char *dir, const char *name, const char *suffix, struct error *err)
{
	autobuf struct buf b = BUF_INIT(0);

	if (buf_printf(&b, err, "%s/%s%s", dir, name, suffix) < 0)
		return NULL;
	return buf_steal_string(&b, err);
}

static bool is_cached_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Sets *out to the path "<dir>/<name><suffix>" if this file exists, and to NULL otherwise. The
 * caller frees *out. */
static int existing_path(char **out, const char *dir, const char *name, const char *suffix,
			 struct error *err)
{
	autofree char *path = entry_path(dir, name, suffix, err);

	if (!path)
		return -1;
	*out = is_cached_file(path) ? steal_ptr(&path) : NULL;
	return 0;
}

char *cache_initrd_find(const char *init_sha256, struct error *err)
{
	autofree char *dir = cache_subdir(CACHE_INITRDS, err);
	autoclose int cache = dir ? cache_open(false, err) : -1;
	autoclose int fd = cache < 0 ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autofree char *path = NULL;

	if (cache < 0)
		return NULL;
	if (fd < 0) {
		error_errno(err, errno, "%s", dir);
		return NULL;
	}
	if (own_dir_check(fd, dir, OWN_CACHE, err) < 0 ||
	    existing_path(&path, dir, init_sha256, ".initrd", err) < 0)
		return NULL;
	if (!path)
		error_set(err, ERR_NOT_FOUND, "%s/%s.initrd does not exist", dir, init_sha256);
	return steal_ptr(&path);
}

static int copy_member(char **out, const char *text, struct error *err)
{
	*out = text ? strdup(text) : NULL;
	return text && !*out ? error_errno(err, ENOMEM, "the cache's records") : 0;
}

/* Copies a digest. A malformed digest becomes "", as if no digest were recorded. */
static void copy_digest(char out[65], const char *text)
{
	out[0] = '\0';
	if (text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64)
		memcpy(out, text, 65);
}

static json_t *read_cache_record(int dirfd, const char *file, struct error *err)
{
	autobuf struct buf text = BUF_INIT(RECORD_BYTES);
	json_t *record = NULL;

	if (path_read_file_at(dirfd, file, &text, err) == 0)
		record = json_load_strict(buf_bytes(&text), text.len, err);
	if (record && !json_is_object(record)) {
		json_decref(record);
		record = NULL;
		error_set(err, ERR_IO, "the file is not a JSON object");
	}
	return record;
}

static enum architecture recorded_architecture(const json_t *record)
{
	return architecture_from_name(
		json_text(record, "architecture", architecture_name(ARCHITECTURE_AMD64)));
}

static int fill_kernel(struct cache_kernel *k, const char *dir, const char *name,
		       const json_t *record, struct error *err)
{
	const char *kind = "", *version = NULL, *sha = NULL, *initrd = NULL, *init = NULL,
		   *config = NULL, *vmlinux = NULL, *package = NULL;

	if (json_get_string(record, "", "kind", JSON_REQUIRED, &kind, err) < 0 ||
	    json_get_string(record, "", "version", JSON_OPTIONAL, &version, err) < 0 ||
	    json_get_string(record, "", "sha256", JSON_REQUIRED, &sha, err) < 0 ||
	    json_get_string(record, "", "initrdSha256", JSON_OPTIONAL, &initrd, err) < 0 ||
	    json_get_string(record, "", "initSha256", JSON_OPTIONAL, &init, err) < 0 ||
	    json_get_string(record, "", "vmlinuxSha256", JSON_OPTIONAL, &vmlinux, err) < 0 ||
	    json_get_string(record, "", "configSha256", JSON_OPTIONAL, &config, err) < 0 ||
	    json_get_string(record, "", "packageSha256", JSON_OPTIONAL, &package, err) < 0)
		return -1;
	k->kind = kernel_kind_from_name(kind);
	k->architecture = recorded_architecture(record);
	k->cached = true;
	k->for_pvm = json_is_true(json_object_get(record, "forPvm"));
	k->bundled = json_is_true(json_object_get(record, "bundled"));
	copy_digest(k->sha256, sha);
	copy_digest(k->initrd_sha256, initrd);
	copy_digest(k->init_sha256, init);
	copy_digest(k->vmlinux_sha256, vmlinux);
	copy_digest(k->config_sha256, config);
	copy_digest(k->package_sha256, package);
	k->path = entry_path(dir, name, "", err);
	if (!k->path || copy_member(&k->name, name, err) < 0 ||
	    copy_member(&k->version, version, err) < 0 ||
	    existing_path(&k->initrd, dir, name, ".initrd", err) < 0 ||
	    existing_path(&k->vmlinux, dir, name, ".vmlinux", err) < 0)
		return -1;
	return existing_path(&k->modules, dir, name, ".modules", err);
}

/* Sets the members of `image` that only the record of an imported image has. */
static int fill_imported(struct cache_image *image, const json_t *record, struct error *err)
{
	json_t *entrypoint = NULL, *cmd = NULL, *env = NULL, *source = NULL;
	const char *cwd = NULL, *ref = NULL, *digest = NULL;

	if (json_get_array(record, "", "entrypoint", JSON_OPTIONAL, &entrypoint, err) < 0 ||
	    json_get_array(record, "", "cmd", JSON_OPTIONAL, &cmd, err) < 0 ||
	    json_get_object(record, "", "env", JSON_OPTIONAL, &env, err) < 0 ||
	    json_get_string(record, "", "cwd", JSON_OPTIONAL, &cwd, err) < 0 ||
	    json_get_object(record, "", "source", JSON_OPTIONAL, &source, err) < 0)
		return -1;
	if (source &&
	    (json_get_string(source, "source", "ref", JSON_REQUIRED, &ref, err) < 0 ||
	     json_get_string(source, "source", "digest", JSON_OPTIONAL, &digest, err) < 0))
		return -1;
	image->entrypoint = json_incref(entrypoint);
	image->cmd = json_incref(cmd);
	image->env = json_incref(env);
	if (copy_member(&image->cwd, cwd, err) < 0 || copy_member(&image->source, ref, err) < 0)
		return -1;
	return copy_member(&image->source_digest, digest, err);
}

static int fill_image(struct cache_image *image, const char *dir, const char *name,
		      const json_t *record, struct error *err)
{
	const char *sha = NULL, *user = NULL, *recipe = NULL;
	json_t *notes = NULL;
	int64_t size = 0;

	if (json_get_string(record, "", "sha256", JSON_REQUIRED, &sha, err) < 0 ||
	    json_get_array(record, "", "notes", JSON_OPTIONAL, &notes, err) < 0 ||
	    json_get_string(record, "", "user", JSON_OPTIONAL, &user, err) < 0 ||
	    json_get_string(record, "", "recipeSha256", JSON_OPTIONAL, &recipe, err) < 0 ||
	    json_get_int(record, "", "sizeBytes", JSON_REQUIRED, 0, INT64_MAX, &size, err) < 0)
		return -1;
	image->cached = true;
	image->architecture = recorded_architecture(record);
	image->size = (uint64_t)size;
	copy_digest(image->sha256, sha);
	copy_digest(image->recipe_sha256, recipe);
	image->notes = json_incref(notes);
	image->path = entry_path(dir, name, ".ext4", err);
	if (!image->path || copy_member(&image->name, name, err) < 0)
		return -1;
	return copy_member(&image->user, user, err) < 0 ? -1 : fill_imported(image, record, err);
}

int cache_record_check(enum cache_part part, const char *name, const json_t *record,
		       struct error *err)
{
	struct cache_kernel kernel = {0};
	struct cache_image image = {0};
	int result = part == CACHE_KERNELS ? fill_kernel(&kernel, "/", name, record, err)
					   : fill_image(&image, "/", name, record, err);

	cache_kernel_free(&kernel);
	cache_image_free(&image);
	return result;
}

void cache_kernel_free(struct cache_kernel *k)
{
	free(k->name);
	free(k->path);
	free(k->initrd);
	free(k->modules);
	free(k->vmlinux);
	free(k->version);
	memset(k, 0, sizeof(*k));
}

bool cache_image_digest(const struct cache_image *image, char out[CACHE_DIGEST_TEXT])
{
	if (image->source_digest)
		snprintf(out, CACHE_DIGEST_TEXT, "%s", image->source_digest);
	else if (*image->sha256)
		snprintf(out, CACHE_DIGEST_TEXT, "sha256:%s", image->sha256);
	else
		return false;
	return true;
}

void cache_image_free(struct cache_image *image)
{
	free(image->name);
	free(image->path);
	free(image->user);
	json_decref(image->entrypoint);
	json_decref(image->cmd);
	json_decref(image->env);
	json_decref(image->notes);
	free(image->cwd);
	free(image->source);
	free(image->source_digest);
	memset(image, 0, sizeof(*image));
}

void cache_kernels_free(struct cache_kernels *list)
{
	for (size_t i = 0; i < list->count; i++)
		cache_kernel_free(&list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

void cache_images_free(struct cache_images *list)
{
	for (size_t i = 0; i < list->count; i++)
		cache_image_free(&list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

/* Compares two architectures for sorting: the host's architecture comes first. */
static int compare_architectures(enum architecture a, enum architecture b)
{
	enum architecture host = architecture_of_host();

	if (a == b)
		return 0;
	return a == host || (b != host && a < b) ? -1 : 1;
}

/* Compares two kernels for sorting. The order is by architecture first. A kernel of a guest bundle
 * comes after all others of its architecture. Then the order is that of enum kernel_kind. Kernels
 * of one kind are sorted by version, the newest first ("6.1.192-2" before "6.1.55-1"). */
static int compare_kernels(const void *a, const void *b)
{
	const struct cache_kernel *x = a, *y = b;
	int versions;

	if (x->architecture != y->architecture)
		return compare_architectures(x->architecture, y->architecture);
	if (x->bundled != y->bundled)
		return x->bundled ? 1 : -1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	versions =
		cache_compare_versions(y->version ? y->version : "", x->version ? x->version : "");
	return versions ? versions : strcmp(x->name, y->name);
}

static bool is_busybox_image(const struct cache_image *image)
{
	autofree char *name = cache_entry_name(CACHE_DEFAULT_IMAGE, image->architecture, NULL);

	return name && strcmp(image->name, name) == 0;
}

static int compare_images(const void *a, const void *b)
{
	const struct cache_image *x = a, *y = b;
	if (x->architecture != y->architecture)
		return compare_architectures(x->architecture, y->architecture);
	bool x_default = is_busybox_image(x), y_default = is_busybox_image(y);

	if (x_default != y_default)
		return x_default ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Writes the file name of a record, without ".json", to name. Returns false for a file that is not
 * a record. */
static bool record_name(const char *file, char name[129])
{
	size_t len = strlen(file);

	if (len <= 5 || len - 5 > 128 || file[0] == '.' || strcmp(file + len - 5, ".json") != 0)
		return false;
	memcpy(name, file, len - 5);
	name[len - 5] = '\0';
	return true;
}

typedef int entry_fn(void *list, const char *dir, const char *name, const json_t *record,
		     struct error *err);

/* Calls `fn` for every record in the directory `part` of the cache. */
static int each_record(enum cache_part part, entry_fn *fn, void *list, struct error *err)
{
	autofree char *path = cache_subdir(part, err);
	struct error why = {0};
	autoclose int cache = path ? cache_open(false, &why) : -1;
	autodir DIR *dir = cache < 0 ? NULL : opendir(path);
	struct dirent *file;
	char name[129];

	if (!path)
		return -1;
	if (cache < 0)
		return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	if (!dir)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", path);
	if (own_dir_check(dirfd(dir), path, OWN_CACHE, err) < 0)
		return -1;
	while ((file = readdir(dir)) != NULL) {
		if (!record_name(file->d_name, name))
			continue;
		json_auto_t *record = read_cache_record(dirfd(dir), file->d_name, &why);
		/* An entry without a record is skipped, because another process is just replacing
		 * the entry: it removes the record first. */
		if (!record && why.code == ERR_NOT_FOUND)
			continue;
		if (record && fn(list, path, name, record, &why) == 0)
			continue;
		/* ERR_INVALID becomes ERR_IO, because it would mean that the caller's request is
		 * wrong, but here a file is wrong. */
		error_set(err, why.code == ERR_INVALID ? ERR_IO : why.code, "%s/%s.json: %s", path,
			  name, why.msg);
		if (why.errnum) /* the system could not read the file, which may be undamaged, so the
				 * error gets no reason */
			return -1;
		return error_reason(
			err, part == CACHE_KERNELS ? REASON_KERNEL_DAMAGED : REASON_IMAGE_DAMAGED,
			name);
	}
	return 0;
}

static int add_cached_kernel(void *list, const char *dir, const char *name, const json_t *record,
			     struct error *err)
{
	struct cache_kernels *kernels = list;
	struct cache_kernel *items =
		array_resize(kernels->items, kernels->count + 1, sizeof(*items));

	if (!items)
		return error_errno(err, ENOMEM, "list of kernels");
	kernels->items = items;
	memset(&items[kernels->count], 0, sizeof(*items));
	return fill_kernel(&items[kernels->count++], dir, name, record, err);
}

static int add_image(void *list, const char *dir, const char *name, const json_t *record,
		     struct error *err)
{
	struct cache_images *images = list;
	struct cache_image *items = array_resize(images->items, images->count + 1, sizeof(*items));

	if (!items)
		return error_errno(err, ENOMEM, "list of images");
	images->items = items;
	memset(&items[images->count], 0, sizeof(*items));
	return fill_image(&items[images->count++], dir, name, record, err);
}

int cache_kernels(struct cache_kernels *out, struct error *err)
{
	struct cache_kernels list = {0};

	if (each_record(CACHE_KERNELS, add_cached_kernel, &list, err) < 0) {
		cache_kernels_free(&list);
		return -1;
	}
	if (list.count > 1)
		qsort(list.items, list.count, sizeof(*list.items), compare_kernels);
	*out = list;
	return 0;
}

int cache_images(struct cache_images *out, struct error *err)
{
	struct cache_images list = {0};

	if (each_record(CACHE_IMAGES, add_image, &list, err) < 0) {
		cache_images_free(&list);
		return -1;
	}
	if (list.count > 1)
		qsort(list.items, list.count, sizeof(*list.items), compare_images);
	*out = list;
	return 0;
}
