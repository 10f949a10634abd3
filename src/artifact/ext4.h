/* SPDX-License-Identifier: MIT */
/*
 * A raw ext4 file system from a tree, without root. mke2fs fills it from the staging directory and
 * takes owners and times from there; debugfs then sets what the tree says. Identifiers, hash seed
 * and times are fixed, so that the same tree is the same bytes whoever builds it and wherever.
 */
#ifndef ARTIFACT_EXT4_H
#define ARTIFACT_EXT4_H

#include <stdint.h>

#include "artifact/tree.h"

struct ext4_spec {
	const char *label;
	const char *uuid; /* also the seed of directory hashes */
	uint64_t size;	  /* bytes; the file is sparse */
	unsigned journal_mib;
	int64_t time;	 /* seconds since 1970, not 0 */
	uint64_t inodes; /* 0: one for 16 KiB of the file system */
};

/* stage holds the tree's data. file must not exist. */
int ext4_make(const struct ext4_spec *spec, const struct tree *tree, const char *stage,
	      const char *file, struct error *err);

#endif
