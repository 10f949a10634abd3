/* SPDX-License-Identifier: MIT */
/* Finding the disk of a workspace on which a path of its guest lies. */
#ifndef API_PLACE_H
#define API_PLACE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "store/store.h"

struct place {
	char *disk;	  /* path of the image */
	char *base;	  /* path of the raw disk below, if disk is a layer; NULL: disk is raw */
	char *mountpoint; /* the disk's mountpoint in the guest */
	char *within;	  /* the path on that disk, from "/" */
	bool changes;	  /* the guest can write to it */
	bool direct;	  /* no link may be on the way to disk */
};

/*
 * Finds the disk of a path. path is absolute, in the guest, and without "..". config is the
 * recorded one. A path on a shared directory is the host's already: ERR_INVALID says where.
 */
int place_find(const struct workspace *ws, const json_t *config, const char *path,
	       struct place *out, struct error *err);
void place_free(struct place *place); /* accepts a zeroed one */

#endif
