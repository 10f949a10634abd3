/* SPDX-License-Identifier: MIT */
/* Which disk of a workspace a path of its guest is on. */
#ifndef API_PLACE_H
#define API_PLACE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "store/store.h"

struct place {
	char *disk;	  /* path of the image */
	char *base;	  /* path of the raw disk that it is a layer of; NULL: it is raw */
	char *mountpoint; /* of it in the guest */
	char *within;	  /* the path on that disk, from "/" */
	bool changes;	  /* the guest can write to it */
	bool direct;	  /* no link may be on the way to disk */
};

/*
 * path: absolute, in the guest, without "..". config: the recorded one. What is on a shared
 * directory is the host's already: ERR_INVALID says where.
 */
int place_find(const struct workspace *ws, const json_t *config, const char *path,
	       struct place *out, struct error *err);
void place_free(struct place *place); /* accepts a zeroed one */

#endif
