/* SPDX-License-Identifier: MIT */
/* Finds the kernel or the image that a user means by a name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "store/cache.h"

/* Moves the kernel at index i of a list to *out. The caller must still free the list. */
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

/* Checks that a file of the user is a regular file, and returns its absolute path. The caller frees
 * the path. */
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
		error_set(err, ERR_INVALID, "%s %s is not a regular file: name another file", what,
			  path);
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
	struct cache_kernel kernel = {.kind = KERNEL_CUSTOM, .architecture = ARCHITECTURE_COUNT};
	autofree char *initrd = NULL;
	autoclose int fd = -1;
	bool is_kernel;

	if (!path)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].path, path) == 0) {
			take_found_kernel(list, i, out);
			return 0;
		}
	if (asprintf(&initrd, "%s.initrd", path) < 0) {
		initrd = NULL;
		return error_errno(err, ENOMEM, "%s", path);
	}
	if (copy_found(&kernel.name, found_basename(path), err) < 0)
		return -1;
	if (is_regular_path(initrd))
		kernel.initrd = steal_ptr(&initrd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0)
		(void)architecture_read_kernel(fd, &is_kernel, &kernel.architecture, NULL);
	kernel.path = steal_ptr(&path);
	*out = kernel;
	return 0;
}

static int image_at_path(struct cache_images *list, const char *text, struct cache_image *out,
			 struct error *err)
{
	autofree char *path = user_path(text, "image", err);
	struct cache_image image = {.architecture = ARCHITECTURE_COUNT};
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

/* Returns true if an entry fits a machine. For `machine`, ARCHITECTURE_COUNT means any
 * architecture. For `has`, it means that the entry's architecture is unknown, and such an entry
 * fits any machine. */
static bool suits(enum architecture has, enum architecture machine)
{
	return has == machine || has == ARCHITECTURE_COUNT || machine == ARCHITECTURE_COUNT;
}

static int check_suits(const char *what, const char *name, enum architecture has,
		       enum architecture machine, struct error *err)
{
	if (suits(has, machine))
		return 0;
	error_set(err, ERR_UNSUPPORTED, "%s %s is for %s, and the machine is %s", what, name,
		  architecture_name(has), architecture_name(machine));
	return error_reason(err, REASON_OTHER_ARCHITECTURE, architecture_name(has));
}

/* Returns how well an entry fits a name and a machine, as a number; a greater number is better.
 * Returns 0 if the entry's name is neither `name` nor `name` with the suffix of the entry's
 * architecture. */
static int name_fits(const char *entry, enum architecture has, const char *name,
		     enum architecture machine)
{
	autofree char *whole = cache_entry_name(name, has, NULL);
	bool same = strcmp(entry, name) == 0;

	if (!same && !(whole && machine == has && strcmp(entry, whole) == 0))
		return 0;
	return suits(has, machine) ? 3 : 1;
}

/* Returns the index of the kernel that fits the name and the machine best. If several kernels fit
 * equally well, returns the index of the first. Returns list->count if no kernel fits. */
static size_t kernel_index(const struct cache_kernels *list, const char *name,
			   enum architecture machine)
{
	size_t best = list->count;
	int most = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct cache_kernel *kernel = &list->items[i];
		int fits = name ? name_fits(kernel->name, kernel->architecture, name, machine) : 0;

		/* The name may also be the name of a kind of kernel. In that case it means the
		 * first kernel of this kind in the list, which is the newest. */
		if (!fits && suits(kernel->architecture, machine) &&
		    (!name || strcmp(kernel_kind_name(kernel->kind), name) == 0))
			fits = 2;
		if (fits > most) {
			most = fits;
			best = i;
		}
	}
	return best;
}

static size_t image_index(const struct cache_images *list, const char *name,
			  enum architecture machine)
{
	size_t best = list->count;
	int most = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct cache_image *image = &list->items[i];
		int fits = name ? name_fits(image->name, image->architecture, name, machine)
				: suits(image->architecture, machine);

		if (fits > most) {
			most = fits;
			best = i;
		}
	}
	return best;
}

/* Sets the error for a missing entry. `what` is a noun for the message, such as "kernel". The
 * subject of the error's reason is the name that the missing entry would have. If `name` is NULL,
 * the subject is the machine's architecture if this is not the host's, and "" otherwise. */
static int refuse_missing(const char *what, enum cache_part part, enum error_reason reason,
			  const char *name, enum architecture machine, struct error *err)
{
	bool foreign = machine != ARCHITECTURE_COUNT && machine != architecture_of_host();
	const char *other = foreign ? architecture_name(machine) : "";
	autofree char *dir = cache_subdir(part, err);
	autofree char *whole = NULL;

	if (!dir)
		return -1;
	error_set(err, ERR_NOT_FOUND, "there is no %s%s%s%s%s in %s", what, name ? " " : "",
		  name ? name : "", foreign ? " for " : "", other, dir);
	whole = name ? cache_entry_name(name, machine, NULL) : NULL;
	return error_reason(err, reason, whole ? whole : other);
}

int cache_kernel_find(const char *text, enum architecture machine, struct cache_kernel *out,
		      struct error *err)
{
	struct cache_kernel found = {0};
	struct cache_kernels list = {0};
	size_t i;
	int result = 0;

	if (text && !*text)
		return error_set(err, ERR_INVALID,
				 "the name of the kernel is empty: give one, or leave it out");
	if (cache_kernels(&list, err) < 0)
		return -1;
	i = text && strchr(text, '/') ? list.count : kernel_index(&list, text, machine);
	if (i < list.count)
		take_found_kernel(&list, i, &found);
	else if (text && (strchr(text, '/') || is_regular_path(text)))
		result = kernel_at_path(&list, text, &found, err);
	else
		result = refuse_missing("kernel", CACHE_KERNELS, REASON_NO_KERNEL, text, machine,
					err);
	cache_kernels_free(&list);
	if (result < 0)
		return -1;
	if (check_suits("kernel", found.name, found.architecture, machine, err) < 0) {
		cache_kernel_free(&found);
		return -1;
	}
	*out = found;
	return 0;
}

static bool is_file(const char *path, const struct stat *file)
{
	struct stat st;

	return path && stat(path, &st) == 0 && st.st_dev == file->st_dev &&
	       st.st_ino == file->st_ino;
}

bool cache_kernel_is_for_pvm(const char *path)
{
	struct cache_kernels list = {0};
	struct stat st;
	bool found = false;

	if (stat(path, &st) < 0 || cache_kernels(&list, NULL) < 0)
		return false;
	for (size_t i = 0; i < list.count && !found; i++)
		found = list.items[i].for_pvm &&
			(is_file(list.items[i].path, &st) || is_file(list.items[i].vmlinux, &st));
	cache_kernels_free(&list);
	return found;
}

int cache_image_find(const char *text, enum architecture machine, struct cache_image *out,
		     struct error *err)
{
	struct cache_image found = {0};
	struct cache_images list = {0};
	int result = 0;
	size_t i;

	if (text && !*text)
		return error_set(err, ERR_INVALID,
				 "the name of the image is empty: give one, or leave it out");
	if (cache_images(&list, err) < 0)
		return -1;
	i = image_index(&list, text, machine);
	if (i < list.count)
		take_found_image(&list, i, &found);
	else if (text && (strchr(text, '/') || is_regular_path(text)))
		result = image_at_path(&list, text, &found, err);
	else
		result = refuse_missing("image", CACHE_IMAGES, REASON_NO_IMAGE, text, machine, err);
	cache_images_free(&list);
	if (result < 0)
		return -1;
	if (check_suits("image", found.name, found.architecture, machine, err) < 0) {
		cache_image_free(&found);
		return -1;
	}
	*out = found;
	return 0;
}
