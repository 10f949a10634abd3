/* SPDX-License-Identifier: MIT */
/* Makes an image's entry in the cache, from a rootfs with the contents of the image. */
#ifndef ARTIFACT_IMAGE_H
#define ARTIFACT_IMAGE_H

#include "artifact/artifact.h"
#include "artifact/ext4.h"
#include "artifact/place.h"

#define IMAGE_FILE "image"
/* The user as which commands run in the images that this program builds. */
#define AGENT_NAME "agent"
#define AGENT_UID 1000

struct image_spec {
	const char *name, *kind; /* name and kind of the entry in the cache */
	struct ext4_spec ext4;
	enum architecture architecture;
	const char *user; /* the user as which commands run in the image, for the record; NULL: the
			   * record has no user */
	json_t *extra;	  /* further members of the record; NULL: no further members */
};

/* Returns true if the cache has an image with that name for that architecture, and the digest of
 * its recipe is recipe_sha256. */
bool image_is_built(const char *name, enum architecture architecture, const char *recipe_sha256);
/* Makes the file system from the contents of `fs`, and puts it into the cache as an entry. */
int image_publish(const struct place *place, const struct image_spec *spec, struct rootfs *fs,
		  const char *recipe_sha256, struct error *err);
/* Makes an entry of the cache from the file system in the file IMAGE_FILE of the scratch
 * directory. */
int image_enter(const struct place *place, const struct image_spec *spec, const char *recipe_sha256,
		struct error *err);
/* Prints the answer of a command about the image `name`. The text of the answer is a sentence that
 * ends with `done`, for example "is built". */
int image_answer(const struct artifact_options *opts, const char *name, const char *done,
		 struct error *err);

/* Returns true if the cache has a twin of the image, under any name. A twin is an image for the
 * same architecture with the same recipe digest, recipe_sha256. */
bool image_has_twin(const struct image_spec *spec, const char *recipe_sha256);
/* Makes an entry with the name in `spec` from a twin of the image (image_has_twin()). `ref` is the
 * user's name for the image, which is put into the record. */
int image_link_twin(const struct place *place, const struct image_spec *spec,
		    const char *recipe_sha256, const char *ref, struct error *err);

/* Build the image "busybox" and the image "debian" for an architecture. */
int image_build_busybox(const struct artifact_options *opts, enum architecture architecture,
			struct error *err);
int image_build_debian(const struct artifact_options *opts, enum architecture architecture,
		       struct error *err);

#endif
