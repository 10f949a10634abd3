/* SPDX-License-Identifier: MIT */
/* The command image-remove removes an image from the cache. Existing workspaces still work without
 * the image, because each workspace has a copy of it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "artifact/image.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"

/* Returns true if the text `asked` names the entry `name`. The text may be without the suffix for
 * the architecture. */
static bool is_called(const char *name, const char *asked, enum architecture architecture)
{
	autofree char *whole = cache_entry_name(asked, architecture, NULL);

	return strcmp(name, asked) == 0 || (whole && strcmp(name, whole) == 0);
}

/* Returns the name of the entry that the text `asked` names. The caller frees the name. Also finds
 * an entry with a damaged record, because removing such an entry repairs the cache. */
static char *find_removable(const char *asked, enum architecture architecture, struct error *err)
{
	struct cache_image image = {0};
	struct error why = {0};
	autofree char *dir = NULL;
	char *name = NULL;

	if (cache_image_find(asked, architecture, &image, &why) < 0) {
		if (why.reason == REASON_IMAGE_DAMAGED &&
		    is_called(why.subject, asked, architecture))
			name = strdup(why.subject);
		else
			error_copy(err, &why);
		return name;
	}
	if (image.cached)
		name = strdup(image.name);
	else if ((dir = cache_subdir(CACHE_IMAGES, err)) != NULL)
		error_set(err, ERR_NOT_FOUND,
			  "there is no image %s in %s: name an image that is there", asked, dir);
	cache_image_free(&image);
	return name;
}

static int remove_image(const char *asked, enum architecture architecture, char **removed,
			struct error *err)
{
	auto_place struct place place = {0};
	autobuf struct buf what = BUF_INIT(0), file = BUF_INIT(0);
	autofree char *name = NULL, *again = NULL;

	if (!path_is_safe_basename(asked))
		return error_set(
			err, ERR_INVALID,
			"\"%.100s\" cannot be an image's name: give a name without a slash", asked);
	name = find_removable(asked, architecture, err);
	if (!name)
		return -1;
	if (buf_printf(&what, err, "image-%s", name) < 0 ||
	    buf_printf(&file, err, "%s.ext4", name) < 0 ||
	    place_open(CACHE_IMAGES, buf_string(&what), &place, err) < 0)
		return -1;
	/* Another process may have removed the image while this process waited for the lock. */
	again = find_removable(name, ARCHITECTURE_COUNT, err);
	if (!again || place_withdraw(&place, name, err) < 0)
		return -1;
	if (unlinkat(place.dir_fd, buf_string(&file), 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, "%s/%s", place.dir, buf_string(&file));
	*removed = steal_ptr(&name);
	return 0;
}

int artifact_image_remove(const struct artifact_options *opts, struct error *err)
{
	json_auto_t *answer = json_object();
	enum architecture architecture;
	autofree char *name = NULL;

	if (opts->word_count != 1)
		return error_set(err, ERR_INVALID, "give the name of exactly one image to remove");
	if (artifact_architecture(opts, ARCHITECTURE_COUNT, &architecture, err) < 0 ||
	    remove_image(opts->words[0], architecture, &name, err) < 0 ||
	    json_put_string(answer, "removed", name, err) < 0)
		return -1;
	return artifact_answer(opts, answer, err, "image %s is removed", name);
}
