/* SPDX-License-Identifier: MIT */
/* Makes an entry of the cache for an image, from a rootfs that has the contents of the image. */
#ifndef ARTIFACT_IMAGE_H
#define ARTIFACT_IMAGE_H

#include "artifact/artifact.h"
#include "artifact/ext4.h"
#include "artifact/place.h"

#define IMAGE_FILE "image"
/* The user in the images that this program builds. */
#define AGENT_NAME "agent"
#define AGENT_UID 1000

struct image_spec {
	const char *name, *kind; /* the entry's name and kind */
	struct ext4_spec ext4;
	enum architecture architecture;
	const char *user; /* the user as whom commands run, for the record; NULL: none */
	json_t *extra;	  /* further members of the record; NULL: none */
};

/* Returns true if the cache has an entry of that name which was made from the recipe with that
 * digest, for that architecture. */
bool image_is_built(const char *name, enum architecture architecture, const char *recipe_sha256);
/* Makes the file system from the contents of `fs`, and the entry of the cache. */
int image_publish(const struct place *place, const struct image_spec *spec, struct rootfs *fs,
		  const char *recipe_sha256, struct error *err);
/* Makes the entry of the cache from the file system in IMAGE_FILE of the scratch directory. */
int image_enter(const struct place *place, const struct image_spec *spec, const char *recipe_sha256,
		struct error *err);
/* Prints the answer of a command for the image `name`. `done` says what happened: "is built". */
int image_answer(const struct artifact_options *opts, const char *name, const char *done,
		 struct error *err);

/* Returns true if the cache has a twin, under any name: an image that was made from the recipe with
 * that digest for spec's architecture. */
bool image_has_twin(const struct image_spec *spec, const char *recipe_sha256);
/* Makes an entry under spec's name too from such a twin. `ref`: the reference of the image that the
 * user asked for, for the record. */
int image_link_twin(const struct place *place, const struct image_spec *spec,
		    const char *recipe_sha256, const char *ref, struct error *err);

/* Build the images "busybox" and "debian" for an architecture. */
int image_build_busybox(const struct artifact_options *opts, enum architecture architecture,
			struct error *err);
int image_build_debian(const struct artifact_options *opts, enum architecture architecture,
		       struct error *err);

#endif
