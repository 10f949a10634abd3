/* SPDX-License-Identifier: MIT */
/* Images: what is in them is a tree; this is how one becomes an entry of the cache. */
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
	const char *user; /* recorded */
};

/* Whether the cache's entry of that name was made from this recipe. */
bool image_is_built(const char *name, const char *recipe_sha256);
/* From the data in <scratch>/root and the tree's list to the entry. */
int image_publish(const struct place *place, const struct image_spec *spec, const struct tree *tree,
		  const char *recipe_sha256, struct error *err);
int image_answer(const struct artifact_options *opts, const char *name, struct error *err);

int image_build_busybox(const struct artifact_options *opts, struct error *err);
int image_build_debian(const struct artifact_options *opts, struct error *err);

#endif
