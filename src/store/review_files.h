/* SPDX-License-Identifier: MIT */
/*
 * The files that a workspace has for each entry of config.bundles, and in addition for each reviewed
 * directory. prepare makes them (supervisor/inputs/bundles.h), and the commands that list and apply
 * changes read them. The names are "bundle-<name>" with one of the suffixes below.
 */
#ifndef STORE_REVIEW_FILES_H
#define STORE_REVIEW_FILES_H

#include <stdbool.h>

#include "base/error.h"

#define REVIEW_DISK ".ext4"   /* the disk */
#define REVIEW_LIST ".list"   /* the list of the disk's files (artifact/review.h) */
#define REVIEW_UPPER ".upper" /* the name of the guest's layer, and a newline */
/* A directory with the copy of the guest's layer that was last fetched: the directory `tree`, and
 * the file `claims` (store/review/claims.h). While it is fetched it has the other suffix. */
#define REVIEW_TAKEN ".taken"
#define REVIEW_TAKING ".taking"

/* The name of a layer to which a guest writes: 32 lower-case hexadecimal digits, and the NUL. */
#define UPPER_TEXT 33

#define BUNDLE_FILE_NAME 160
/* Writes the name of a file of the bundle `name` with that suffix. */
void review_file_name(const char *name, const char *suffix, char out[BUNDLE_FILE_NAME]);
/* Returns true if `name` is a name that review_file_name() writes for any bundle. */
bool review_is_file(const char *name);
/* Returns true if `name` is a name that review_file_name() writes for the bundle `bundle`. */
bool review_is_file_of(const char *name, const char *bundle);
/* Makes a new name for a layer, by chance. */
int review_new_upper(char out[UPPER_TEXT], struct error *err);
/* Writes the name of the layer into the file dir/name, and replaces an earlier one. */
int review_write_upper(int dir, const char *bundle, const char *upper, struct error *err);
/* Reads the name of the layer of the bundle. ERR_INVALID: the file has something else. */
int review_read_upper(int dir, const char *bundle, char out[UPPER_TEXT], struct error *err);

#endif
