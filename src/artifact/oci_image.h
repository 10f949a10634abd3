/* SPDX-License-Identifier: MIT */
/* The metadata of an image of the OCI or of Docker. */
#ifndef ARTIFACT_OCI_IMAGE_H
#define ARTIFACT_OCI_IMAGE_H

#include <jansson.h>
#include <stdint.h>

#include "artifact/digest.h"
#include "base/architecture.h"
#include "base/error.h"

struct oci_layer {
	char sha256[DIGEST_TEXT];
	char diff_id[DIGEST_TEXT]; /* digest of the unpacked bytes, from the configuration */
	uint64_t bytes;		   /* size of the stored layer */
};

struct oci_image {
	char sha256[DIGEST_TEXT];	 /* digest of its manifest */
	char config_sha256[DIGEST_TEXT]; /* digest of its configuration; two images with the same
					  * digest here have the same contents */
	struct oci_layer *layers;	 /* the lowest first */
	size_t layer_count;
	uint64_t bytes; /* size of all stored layers together */
	json_t *run;	/* entrypoint, cmd, env, user, cwd, each where the image names it */
};
void oci_image_free(struct oci_image *image); /* accepts a zeroed one */
#define auto_oci_image __attribute__((cleanup(oci_image_free)))

/* Reads the image that skopeo has put into the directory. ERR_INVALID if the files are damaged or
 * are no image. ERR_UNSUPPORTED if the image is for another architecture, or not for Linux. */
int oci_image_read(const char *dir, enum architecture architecture, struct oci_image *out,
		   struct error *err);

#endif
