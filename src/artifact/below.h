/* SPDX-License-Identifier: MIT */
/* Opens files in a directory tree that other users or their programs may have written. The
 * functions follow no link in the tree, and open no file outside the tree. */
#ifndef ARTIFACT_BELOW_H
#define ARTIFACT_BELOW_H

#include "base/buf.h"
#include "base/error.h"

/* Opens a regular file for reading. ERR_INVALID: the file is not a regular file, or the path has a
 * link. */
int below_open(int root, const char *path, struct error *err);
/* Opens a directory for reading. ERR_INVALID: the file is not a directory, or the path has a
 * link. */
int below_open_dir(int root, const char *path, struct error *err);
/* Appends the contents of the whole file to `out`. Fails if the file is longer than the limit of
 * `out` allows. */
int below_read(int root, const char *path, struct buf *out, struct error *err);

#endif
