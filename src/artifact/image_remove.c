/* SPDX-License-Identifier: MIT */
/* The command image-remove. Workspaces have their own copies: none of them misses it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "artifact/image.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"

static int remove_image(const char *asked, enum architecture architecture, char **removed,
			struct error *err)
{
	auto_place struct place place = {0};
	struct cache_image image = {0};
	autobuf struct buf what = BUF_INIT(0), file = BUF_INIT(0);
	autofree char *name = NULL;
	bool cached;

	if (!path_is_safe_basename(asked))
		return error_set(err, ERR_INVALID, "\"%.100s\" is no name of an image", asked);
	if (cache_image_find(asked, architecture, &image, err) < 0)
		return -1;
	name = strdup(image.name);
	cache_image_free(&image);
	if (!name)
		return error_errno(err, ENOMEM, "image");
	if (buf_printf(&what, err, "image-%s", name) < 0 ||
	    buf_printf(&file, err, "%s.ext4", name) < 0 ||
	    place_open(CACHE_IMAGES, buf_string(&what), &place, err) < 0 ||
	    cache_image_find(name, ARCHITECTURE_COUNT, &image, err) < 0)
		return -1;
	cached = image.cached;
	cache_image_free(&image);
	if (!cached)
		return error_set(err, ERR_NOT_FOUND, "there is no image %s in %s", name, place.dir);
	if (place_withdraw(&place, name, err) < 0)
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
		return error_set(err, ERR_INVALID, "name one image to be removed");
	if (artifact_architecture(opts, ARCHITECTURE_COUNT, &architecture, err) < 0 ||
	    remove_image(opts->words[0], architecture, &name, err) < 0 ||
	    json_put_string(answer, "removed", name, err) < 0)
		return -1;
	return artifact_answer(opts, answer, err, "image %s is removed", name);
}
