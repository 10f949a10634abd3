/* SPDX-License-Identifier: MIT */
/* Finds the disk of a workspace that contains a path of its guest. */
#ifndef API_PLACE_H
#define API_PLACE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "store/store.h"

struct place {
	char *disk;	  /* path of the disk on the host */
	char *base;	  /* path of the raw disk under the layer, if the file at `disk` is a layer;
			   * NULL: the file at `disk` is raw */
	char *mountpoint; /* the disk's mountpoint in the guest */
	char *within;	  /* the path of the file within the disk's file system, beginning with
			   * "/" */
	bool changes;	  /* the guest can write to the disk */
	bool direct;	  /* the path `disk` must be opened without following a link */
};

/*
 * Finds the disk of a path. `path` must be an absolute path of the guest without ".."; otherwise
 * the call fails with ERR_INVALID. `config` is the recorded config of the workspace. Also fails
 * with ERR_INVALID if the path is in a shared directory; then the message names the file's path on
 * the host. ERR_UNSUPPORTED: the path is on a root file system in memory. The caller frees *out
 * with place_free().
 */
int place_find(const struct workspace *ws, const json_t *config, const char *path,
	       struct place *out, struct error *err);
void place_free(struct place *place); /* accepts a zeroed struct */

#endif
