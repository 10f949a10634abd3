/* SPDX-License-Identifier: MIT */
/* Gives a second name to an image in the cache. The files of both entries are hard links to one
 * file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/image.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"

/* Returns the name of an entry with this recipe and this architecture, or NULL if the cache has no
 * such entry. The caller frees the name. The architecture is compared too, because the record of an
 * older entry may have another architecture than the image's configuration. */
static char *find_twin(const struct image_spec *spec, const char *recipe_sha256, struct error *err)
{
	struct cache_images list = {0};
	char *name = NULL;

	if (cache_images(&list, err) < 0)
		return NULL;
	for (size_t i = 0; i < list.count && !name; i++)
		if (list.items[i].architecture == spec->architecture &&
		    strcmp(list.items[i].recipe_sha256, recipe_sha256) == 0 &&
		    access(list.items[i].path, R_OK) == 0)
			name = strdup(list.items[i].name);
	cache_images_free(&list);
	return name;
}

bool image_has_twin(const struct image_spec *spec, const char *recipe_sha256)
{
	autofree char *name = find_twin(spec, recipe_sha256, NULL);

	return name != NULL;
}

static int link_file(const struct place *place, const char *twin, struct error *err)
{
	autobuf struct buf file = BUF_INIT(0);

	if (buf_printf(&file, err, "%s.ext4", twin) < 0)
		return -1;
	if (linkat(place->dir_fd, buf_string(&file), place->scratch_fd, IMAGE_FILE, 0) < 0)
		return error_errno(err, errno, "%s/%s", place->dir, buf_string(&file));
	return 0;
}

int image_link_twin(const struct place *place, const struct image_spec *spec,
		    const char *recipe_sha256, const char *ref, struct error *err)
{
	autofree char *twin = find_twin(spec, recipe_sha256, err);
	const char *name = spec->name;
	json_t *source = NULL;
	json_auto_t *record = twin ? place_read_record(place, twin, err) : NULL, *again = NULL;

	if (!record || link_file(place, twin, err) < 0 ||
	    !(again = place_read_record(place, twin, err)))
		return error_prefix(err, "image %s", twin ? twin : name);
	/* True if another process has replaced the entry since it was found in the list. */
	if (strcmp(json_text(record, "recipeSha256", ""), recipe_sha256) != 0 ||
	    strcmp(json_text(record, "architecture", "amd64"),
		   architecture_name(spec->architecture)) != 0 ||
	    !json_equal(record, again))
		return error_set(
			err, ERR_UNAVAILABLE,
			"another command is replacing image %s: try again when that command has ended",
			twin);
	if (json_put_string(record, "name", name, err) < 0 ||
	    json_get_object(record, "", "source", JSON_REQUIRED, &source, err) < 0 ||
	    json_put_string(source, "ref", ref, err) < 0 || place_withdraw(place, name, err) < 0 ||
	    place_publish(place, IMAGE_FILE, name, ".ext4", err) < 0)
		return -1;
	return place_record(place, name, record, err);
}
