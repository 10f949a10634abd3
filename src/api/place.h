/* SPDX-License-Identifier: MIT */
/* Finds the disk of a workspace on which a path of its guest lies. */
#ifndef API_PLACE_H
#define API_PLACE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "store/store.h"

struct place {
	char *disk;	  /* path of the disk on the host */
	char *base;	  /* path of the raw disk under the layer, if `disk` is a layer; NULL:
			   * `disk` itself is raw */
	char *mountpoint; /* the disk's mountpoint in the guest */
	char *within;	  /* the path of the file on the disk, from "/" */
	bool changes;	  /* the guest can write to the disk */
	bool direct;	  /* the path `disk` must not lead through a link */
};

/*
 * Finds the disk of a path. `path` must be an absolute path of the guest without ".."; otherwise
 * the call fails with ERR_INVALID. `config` is the recorded config of the workspace. ERR_INVALID
 * also if the path is on a shared directory; the message names the file's path on the host.
 * ERR_UNSUPPORTED if the path is on a root in memory. The caller frees *out with place_free().
 */
int place_find(const struct workspace *ws, const json_t *config, const char *path,
	       struct place *out, struct error *err);
void place_free(struct place *place); /* accepts a zeroed struct */

#endif
