/* SPDX-License-Identifier: MIT */
/* Reads the metadata of an image of the OCI or of Docker. */
#ifndef ARTIFACT_OCI_IMAGE_H
#define ARTIFACT_OCI_IMAGE_H

#include <jansson.h>
#include <stdint.h>

#include "artifact/digest.h"
#include "base/architecture.h"
#include "base/error.h"

struct oci_layer {
	char sha256[DIGEST_TEXT];
	char diff_id[DIGEST_TEXT]; /* digest of the layer's unpacked bytes, from the image's
				    * configuration */
	uint64_t bytes;		   /* size of the stored layer in bytes */
};

struct oci_image {
	char sha256[DIGEST_TEXT];	 /* digest of the image's manifest */
	char config_sha256[DIGEST_TEXT]; /* digest of the image's configuration; images with the
					  * same digest have the same contents */
	struct oci_layer *layers;	 /* the layers of the image, the lowest layer first */
	size_t layer_count;
	uint64_t bytes; /* size of all stored layers together, in bytes */
	json_t *run;	/* object with entrypoint, cmd, env, user and cwd; has only the members that
			 * the image sets */
};
void oci_image_free(struct oci_image *image); /* accepts a zeroed one */
#define auto_oci_image __attribute__((cleanup(oci_image_free)))

/* Reads the image that skopeo has stored in the directory. ERR_INVALID: the files are damaged or
 * are not an image. ERR_UNSUPPORTED: the image is for another architecture, or not for Linux. */
int oci_image_read(const char *dir, enum architecture architecture, struct oci_image *out,
		   struct error *err);

#endif
