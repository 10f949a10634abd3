/* SPDX-License-Identifier: MIT */
/* Files of a tree that others have made, or that their programs have written in: no link in it
 * leads anywhere, and nothing outside of it is opened. */
#ifndef ARTIFACT_BELOW_H
#define ARTIFACT_BELOW_H

#include "base/buf.h"
#include "base/error.h"

/* Opens the regular file for reading. ERR_INVALID where it is none, or a link is on the way. */
int below_open(int root, const char *path, struct error *err);
/* Opens the directory for reading, in the same way. */
int below_open_dir(int root, const char *path, struct error *err);
/* Appends the whole of the file to out, whose limit bounds it. */
int below_read(int root, const char *path, struct buf *out, struct error *err);

#endif
