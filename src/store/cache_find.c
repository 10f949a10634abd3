/* SPDX-License-Identifier: MIT */
/* What a user means by the name of a kernel or an image. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "store/cache.h"

/* Moves entry i out of a list, which is to be freed as before. */
static void take_found_kernel(struct cache_kernels *list, size_t i, struct cache_kernel *out)
{
	*out = list->items[i];
	memset(&list->items[i], 0, sizeof(list->items[i]));
}

static void take_found_image(struct cache_images *list, size_t i, struct cache_image *out)
{
	*out = list->items[i];
	memset(&list->items[i], 0, sizeof(list->items[i]));
}

static bool is_regular_path(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int copy_found(char **out, const char *text, struct error *err)
{
	*out = strdup(text);
	return *out ? 0 : error_errno(err, ENOMEM, "%s", text);
}

/* "<path>.initrd" where there is such a file, else NULL. */
static int find_initrd(char **out, const char *path, struct error *err)
{
	autofree char *initrd = NULL;

	if (asprintf(&initrd, "%s.initrd", path) < 0) {
		initrd = NULL;
		return error_errno(err, ENOMEM, "%s", path);
	}
	*out = is_regular_path(initrd) ? steal_ptr(&initrd) : NULL;
	return 0;
}

/* Absolute, and certainly a regular file. */
static char *user_path(const char *text, const char *what, struct error *err)
{
	autofree char *path = path_absolute(text, err);
	struct stat st;

	if (!path)
		return NULL;
	if (stat(path, &st) < 0) {
		error_errno(err, errno, "%s %s", what, path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		error_set(err, ERR_INVALID, "%s %s is not a regular file", what, path);
		return NULL;
	}
	return steal_ptr(&path);
}

static const char *found_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int kernel_at_path(struct cache_kernels *list, const char *text, struct cache_kernel *out,
			  struct error *err)
{
	autofree char *path = user_path(text, "kernel", err);
	struct cache_kernel kernel = {.kind = KERNEL_CUSTOM};

	if (!path)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].path, path) == 0) {
			take_found_kernel(list, i, out);
			return 0;
		}
	if (find_initrd(&kernel.initrd, path, err) < 0 ||
	    copy_found(&kernel.name, found_basename(path), err) < 0) {
		cache_kernel_free(&kernel);
		return -1;
	}
	kernel.path = steal_ptr(&path);
	*out = kernel;
	return 0;
}

static int image_at_path(struct cache_images *list, const char *text, struct cache_image *out,
			 struct error *err)
{
	autofree char *path = user_path(text, "image", err);
	struct cache_image image = {0};
	struct stat st;

	if (!path)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].path, path) == 0) {
			take_found_image(list, i, out);
			return 0;
		}
	if (stat(path, &st) < 0)
		return error_errno(err, errno, "image %s", path);
	if (copy_found(&image.name, found_basename(path), err) < 0)
		return -1;
	image.path = steal_ptr(&path);
	image.size = (uint64_t)st.st_size;
	*out = image;
	return 0;
}

/* By name, or the first (newest) of the kind of that name; count when there is none. */
static size_t kernel_index(const struct cache_kernels *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (!name || strcmp(list->items[i].name, name) == 0)
			return i;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(kernel_kind_name(list->items[i].kind), name) == 0)
			return i;
	return list->count;
}

static int no_kernel(const char *name, struct error *err)
{
	autofree char *dir = cache_subdir(CACHE_KERNELS, err);

	if (!dir)
		return -1;
	error_set(err, ERR_NOT_FOUND, "there is no kernel %s%sin %s", name ? name : "",
		  name ? " " : "", dir);
	return error_reason(err, REASON_NO_KERNEL, name ? name : "");
}

static int no_image(const char *name, struct error *err)
{
	autofree char *dir = cache_subdir(CACHE_IMAGES, err);

	if (!dir)
		return -1;
	error_set(err, ERR_NOT_FOUND, "there is no image %s%sin %s", name ? name : "",
		  name ? " " : "", dir);
	return error_reason(err, REASON_NO_IMAGE, name ? name : "");
}

int cache_kernel_find(const char *text, struct cache_kernel *out, struct error *err)
{
	struct cache_kernels list = {0};
	size_t i;
	int result = 0;

	if (text && !*text)
		return error_set(err, ERR_INVALID, "the name of the kernel is empty");
	if (cache_kernels(&list, err) < 0)
		return -1;
	i = text && strchr(text, '/') ? list.count : kernel_index(&list, text);
	if (i < list.count)
		take_found_kernel(&list, i, out);
	else if (text && (strchr(text, '/') || is_regular_path(text)))
		result = kernel_at_path(&list, text, out, err);
	else
		result = no_kernel(text, err);
	cache_kernels_free(&list);
	return result;
}

int cache_image_find(const char *text, struct cache_image *out, struct error *err)
{
	const char *name = text ? text : CACHE_DEFAULT_IMAGE;
	struct cache_images list = {0};
	int result = 0;
	size_t i = 0;

	if (!*name)
		return error_set(err, ERR_INVALID, "the name of the image is empty");
	if (cache_images(&list, err) < 0)
		return -1;
	while (i < list.count && strcmp(list.items[i].name, name) != 0)
		i++;
	if (i < list.count)
		take_found_image(&list, i, out);
	else if (text && (strchr(text, '/') || is_regular_path(text)))
		result = image_at_path(&list, text, out, err);
	else
		result = no_image(text, err);
	cache_images_free(&list);
	return result;
}

int cache_image_check_name(const char *name, struct error *err)
{
	size_t len = strlen(name);

	if (strcmp(name, "busybox") == 0 || strcmp(name, "debian") == 0)
		return error_set(err, ERR_INVALID,
				 "\"%s\" is the name of an image that is built: choose another",
				 name);
	if (len > 64 || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") != len ||
	    !path_is_safe_basename(name) || strchr("._-", name[0]))
		return error_set(err, ERR_INVALID,
				 "\"%.100s\" cannot be the name of an image: at most 64 small "
				 "letters, digits, \"-\", \"_\" and \".\", a letter or digit first",
				 name);
	return 0;
}

/* Not the name of a file beside an entry, nor one that a kernel of ours may get. */
static bool is_custom_kernel(const char *name)
{
	static const char *const ends[] = {".initrd", ".json", ".modules"};
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (len >= strlen(ends[i]) && strcmp(name + len - strlen(ends[i]), ends[i]) == 0)
			return false;
	for (int kind = 0; kind < KERNEL_KIND_COUNT; kind++)
		if (strcmp(name, kernel_kind_name(kind)) == 0)
			return false;
	return path_is_safe_basename(name) && name[0] != '.' && strncmp(name, "debian-", 7) != 0 &&
	       strncmp(name, "tuned-", 6) != 0;
}

int cache_kernel_check_name(const char *name, struct error *err)
{
	if (is_custom_kernel(name))
		return 0;
	return error_set(err, ERR_INVALID, "\"%.100s\" cannot be the name of a kernel: --name NAME",
			 name);
}
