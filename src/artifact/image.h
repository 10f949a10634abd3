/* SPDX-License-Identifier: MIT */
/* Images: what is in them is a rootfs; this is how one becomes an entry of the cache. */
#ifndef ARTIFACT_IMAGE_H
#define ARTIFACT_IMAGE_H

#include "artifact/artifact.h"
#include "artifact/ext4.h"
#include "artifact/place.h"

#define IMAGE_FILE "image"
/* The user of our images. */
#define AGENT_NAME "agent"
#define AGENT_UID 1000

struct image_spec {
	const char *name, *kind; /* of the entry */
	struct ext4_spec ext4;
	enum architecture architecture;
	const char *user; /* recorded; NULL: none */
	json_t *extra;	  /* further members of the record; NULL: none */
};

/* Whether the cache's entry of that name was made from this recipe, for that architecture. */
bool image_is_built(const char *name, enum architecture architecture, const char *recipe_sha256);
/* Makes the entry of the contents. */
int image_publish(const struct place *place, const struct image_spec *spec, struct rootfs *fs,
		  const char *recipe_sha256, struct error *err);
/* The same of the file system in IMAGE_FILE. */
int image_enter(const struct place *place, const struct image_spec *spec, const char *recipe_sha256,
		struct error *err);
/* done: "is built". */
int image_answer(const struct artifact_options *opts, const char *name, const char *done,
		 struct error *err);

/* Whether an image of the cache was made from that recipe for spec's architecture, under whatever
 * name. */
bool image_has_twin(const struct image_spec *spec, const char *recipe_sha256);
/* Makes it an entry of spec's name too, which was imported from ref. */
int image_link_twin(const struct place *place, const struct image_spec *spec,
		    const char *recipe_sha256, const char *ref, struct error *err);

int image_build_busybox(const struct artifact_options *opts, enum architecture architecture,
			struct error *err);
int image_build_debian(const struct artifact_options *opts, enum architecture architecture,
		       struct error *err);

#endif
