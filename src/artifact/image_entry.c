/* SPDX-License-Identifier: MIT */
#include "artifact/image.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "artifact/digest.h"
#include "artifact/progress.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "store/cache.h"

bool image_is_built(const char *name, enum architecture architecture, const char *recipe_sha256)
{
	struct cache_image image = {0};
	struct error none;
	bool built;

	if (cache_image_find(name, ARCHITECTURE_COUNT, &image, &none) < 0)
		return false;
	built = image.cached && image.architecture == architecture &&
		strcmp(image.recipe_sha256, recipe_sha256) == 0 && access(image.path, R_OK) == 0;
	cache_image_free(&image);
	return built;
}

static json_t *new_image_record(const struct image_spec *spec, const char *sha, const char *recipe,
				struct error *err)
{
	json_auto_t *record = json_object();

	if (json_put(record, "format", json_integer(1), err) < 0 ||
	    json_put_string(record, "name", spec->name, err) < 0 ||
	    json_put_string(record, "kind", spec->kind, err) < 0 ||
	    json_put_string(record, "architecture", architecture_name(spec->architecture), err) <
		    0 ||
	    json_put_string(record, "sha256", sha, err) < 0 ||
	    json_put_string(record, "recipeSha256", recipe, err) < 0 ||
	    json_put(record, "sizeBytes", json_integer((json_int_t)spec->ext4.size), err) < 0 ||
	    (spec->user && json_put_string(record, "user", spec->user, err) < 0))
		return NULL;
	if (spec->extra && json_object_update(record, spec->extra) < 0) {
		error_errno(err, ENOMEM, "image");
		return NULL;
	}
	return json_incref(record);
}

int image_publish(const struct place *place, const struct image_spec *spec, struct rootfs *fs,
		  const char *recipe_sha256, struct error *err)
{
	autofree char *file = place_scratch(place, IMAGE_FILE, err);

	if (!file || ext4_make(&spec->ext4, fs, file, err) < 0)
		return -1;
	return image_enter(place, spec, recipe_sha256, err);
}

int image_enter(const struct place *place, const struct image_spec *spec, const char *recipe_sha256,
		struct error *err)
{
	autofree char *file = place_scratch(place, IMAGE_FILE, err);
	json_auto_t *record = NULL;
	char sha[DIGEST_TEXT];

	if (!file)
		return -1;
	progress_stage("hashing the image");
	if (digest_file(file, sha, err) < 0)
		return -1;
	record = new_image_record(spec, sha, recipe_sha256, err);
	if (!record || place_withdraw(place, spec->name, err) < 0 ||
	    place_publish(place, IMAGE_FILE, spec->name, ".ext4", err) < 0)
		return -1;
	return place_record(place, spec->name, record, err);
}

int image_answer(const struct artifact_options *opts, const char *name, const char *done,
		 struct error *err)
{
	struct cache_image image = {0};
	json_auto_t *answer = json_object();
	int result = -1;

	if (cache_image_find(name, ARCHITECTURE_COUNT, &image, err) < 0)
		return -1;
	if (json_put_string(answer, "name", image.name, err) == 0 &&
	    json_put_string(answer, "path", image.path, err) == 0 &&
	    json_put_string(answer, "architecture", architecture_name(image.architecture), err) ==
		    0 &&
	    json_put_string(answer, "sha256", image.sha256, err) == 0)
		result = artifact_answer(opts, answer, err, "image %s %s", image.name, done);
	cache_image_free(&image);
	return result;
}

static const struct {
	const char *kind;
	int (*build)(const struct artifact_options *opts, enum architecture architecture,
		     struct error *err);
} kinds[] = {
	{"busybox", image_build_busybox},
	{"debian", image_build_debian},
};

int artifact_image_build(const struct artifact_options *opts, struct error *err)
{
	const char *kind = opts->word_count == 1 ? opts->words[0] : NULL;
	enum architecture architecture;

	if (!kind)
		return error_set(err, ERR_INVALID,
				 "give exactly one image to build: busybox or debian");
	if (artifact_architecture(opts, architecture_of_host(), &architecture, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].build(opts, architecture, err) < 0
				       ? error_prefix(err, "image %s", kind)
				       : 0;
	return error_set(err, ERR_INVALID,
			 "there is no recipe for an image %s: choose busybox or debian", kind);
}
