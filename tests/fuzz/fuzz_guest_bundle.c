/* SPDX-License-Identifier: MIT */
/*
 * The manifest of a guest bundle as a hostile maker may write it, beside three small files that a
 * right manifest names. Whatever it contains, nothing is written beside the cache. A bundle that is
 * refused leaves no entry. Each entry of a bundle that is accepted can be found.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "fuzz_directory.h"
#include "fuzz_input.h"
#include "store/cache.h"
#include "store/guest_bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* "HdrS" at 0x202 and the flag of a 64-bit entry: Documentation/arch/x86/boot.rst */
static void write_kernel(int dir)
{
	uint8_t kernel[0x240] = {[0x1fe] = 0x55, 0xaa, [0x202] = 'H', 'd', 'r', 'S',
				 0x0c,		 0x02, [0x236] = 1};

	HOLDS(path_replace_file_at(dir, "k", kernel, sizeof(kernel), 0600, PATH_NO_SYNC, NULL) ==
	      0);
}

static int make_bundle(int top)
{
	autoclose int bundle = path_open_dir_at(top, "bundle", true, 0700, NULL);
	autoclose int kernels = path_open_dir_at(bundle, "kernels", true, 0700, NULL);
	autoclose int images = path_open_dir_at(bundle, "images", true, 0700, NULL);
	char path[64];

	HOLDS(bundle >= 0 && kernels >= 0 && images >= 0);
	write_kernel(kernels);
	HOLDS(path_replace_file_at(kernels, "k.initrd", "i\n", 2, 0600, PATH_NO_SYNC, NULL) == 0);
	HOLDS(path_replace_file_at(images, "m.ext4", "m\n", 2, 0600, PATH_NO_SYNC, NULL) == 0);
	snprintf(path, sizeof(path), "%s/cache", fuzz_base);
	HOLDS(setenv("MICROAGENT_CACHE_DIR", path, 1) == 0);
	return steal_fd(&bundle);
}

/* The cache has no more than this besides its entries: directories and locks. */
static bool has_no_entry(int top)
{
	static const char *const parts[] = {"cache/kernels", "cache/images"};

	for (size_t i = 0; i < 2; i++)
		if (unlinkat(top, parts[i], AT_REMOVEDIR) < 0 && errno != ENOENT)
			return false;
	return true;
}

static void check_entries(const json_t *entries)
{
	json_t *entry;
	size_t i;

	HOLDS(json_array_size(entries) > 0);
	json_array_foreach(entries, i, entry)
	{
		const char *part = json_text(entry, "part", ""),
			   *name = json_text(entry, "name", "");
		struct cache_kernel kernel = {0};
		struct cache_image image = {0};

		if (strcmp(part, "kernels") == 0)
			HOLDS(cache_kernel_find(name, ARCHITECTURE_AMD64, &kernel, NULL) == 0 &&
			      kernel.initrd);
		else
			HOLDS(cache_image_find(name, ARCHITECTURE_AMD64, &image, NULL) == 0);
		cache_kernel_free(&kernel);
		cache_image_free(&image);
	}
}

static void look(void *data, const char *file)
{
	(void)data;
	HOLDS(*file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct guest_bundle_watch watch = {.cancel = -1, .at = look};
	int top = fuzz_directory();
	static int bundle = -1;
	struct error err = {0};
	json_auto_t *out = NULL;
	char path[64];

	if (bundle < 0)
		bundle = make_bundle(top);
	(void)path_remove_tree_at(top, "cache", NULL);
	HOLDS(path_replace_file_at(bundle, "manifest.json", data, size, 0600, PATH_NO_SYNC, NULL) ==
	      0);
	snprintf(path, sizeof(path), "%s/bundle", fuzz_base);
	if (guest_bundle_import(path, ARCHITECTURE_AMD64, NULL, &watch, &out, &err) == 0)
		check_entries(json_object_get(out, "entries"));
	else
		HOLDS(err.msg[0] && !out && has_no_entry(top));
	HOLDS(fuzz_outside_is_same(top));
	return 0;
}
