/* SPDX-License-Identifier: MIT */
/* Makes an entry of the cache from a rootfs, which has the contents of an image. */
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
	const char *user; /* recorded; NULL: none */
	json_t *extra;	  /* further members of the record; NULL: none */
};

/* Returns true if the cache's entry of that name was made from this recipe for that architecture.
 */
bool image_is_built(const char *name, enum architecture architecture, const char *recipe_sha256);
/* Makes the file system from the contents of fs, and the entry of the cache. */
int image_publish(const struct place *place, const struct image_spec *spec, struct rootfs *fs,
		  const char *recipe_sha256, struct error *err);
/* Makes the entry of the cache from the file system in IMAGE_FILE. */
int image_enter(const struct place *place, const struct image_spec *spec, const char *recipe_sha256,
		struct error *err);
/* Prints the answer of a command for an image. done: what happened, as "is built". */
int image_answer(const struct artifact_options *opts, const char *name, const char *done,
		 struct error *err);

/* Returns true if an image of the cache, under any name, was made from that recipe for spec's
 * architecture. */
bool image_has_twin(const struct image_spec *spec, const char *recipe_sha256);
/* Makes such an image an entry under spec's name too. ref: the reference from which that name was
 * imported. */
int image_link_twin(const struct place *place, const struct image_spec *spec,
		    const char *recipe_sha256, const char *ref, struct error *err);

int image_build_busybox(const struct artifact_options *opts, enum architecture architecture,
			struct error *err);
int image_build_debian(const struct artifact_options *opts, enum architecture architecture,
		       struct error *err);

#endif
