/* SPDX-License-Identifier: MIT */
/* What an image of the OCI or of Docker says of itself. */
#ifndef ARTIFACT_OCI_IMAGE_H
#define ARTIFACT_OCI_IMAGE_H

#include <jansson.h>
#include <stdint.h>

#include "artifact/digest.h"
#include "base/architecture.h"
#include "base/error.h"

struct oci_layer {
	char sha256[DIGEST_TEXT];
	char diff_id[DIGEST_TEXT]; /* of its bytes when they are unpacked, by the configuration */
	uint64_t bytes;		   /* as it is stored */
};

struct oci_image {
	char sha256[DIGEST_TEXT];	 /* of its manifest */
	char config_sha256[DIGEST_TEXT]; /* of its configuration: the same for the same contents */
	struct oci_layer *layers;	 /* the lowest first */
	size_t layer_count;
	uint64_t bytes; /* of the layers together */
	json_t *run;	/* entrypoint, cmd, env, user, cwd, each where the image names it */
};
void oci_image_free(struct oci_image *image); /* accepts a zeroed one */
#define auto_oci_image __attribute__((cleanup(oci_image_free)))

/* Reads what skopeo has put into the directory. ERR_INVALID for what is damaged or no image,
 * ERR_UNSUPPORTED for one of another architecture, or no Linux. */
int oci_image_read(const char *dir, enum architecture architecture, struct oci_image *out,
		   struct error *err);

#endif
