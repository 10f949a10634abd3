/* SPDX-License-Identifier: MIT */
/* Takes files out of the image of a reviewed directory, by `microagent-artifact review-extract`. */
#ifndef STORE_REVIEW_EXTRACT_H
#define STORE_REVIEW_EXTRACT_H

#include <stddef.h>

#include "base/error.h"

/* The image of a reviewed directory. */
struct review_image {
	int fd;		     /* a descriptor of the image, open for reading; -1: there is none */
	const char *program; /* the path of microagent-artifact */
	int scratch; /* a descriptor of an empty directory of this user, into which files may
			      * be written. The caller removes it. */
};

/* Writes the files with these paths below the directory that is open as `dir`. Paths that the image
 * does not have are skipped. */
int review_extract(const struct review_image *image, int dir, const char *const *paths,
		   size_t count, struct error *err);

#endif
