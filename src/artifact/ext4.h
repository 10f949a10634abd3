/* SPDX-License-Identifier: MIT */
/*
 * A raw ext4 file system of a rootfs, without root: mke2fs makes an empty one, libext2fs writes
 * into it, and e2fsck looks at the result. Identifiers, hash seed and times are fixed, so that the
 * same contents are the same bytes whoever builds them and wherever.
 */
#ifndef ARTIFACT_EXT4_H
#define ARTIFACT_EXT4_H

#include <stdint.h>

#include "artifact/rootfs.h"

struct ext4_spec {
	const char *label;
	const char *uuid; /* also the seed of directory hashes */
	uint64_t size;	  /* bytes; the file is sparse */
	unsigned journal_mib;
	int64_t time;	 /* seconds since 1970, not 0 */
	uint64_t inodes; /* 0: one for 16 KiB of the file system */
};

/* file must not exist. Each data file of the rootfs is removed once its contents are in the image.
 */
int ext4_make(const struct ext4_spec *spec, struct rootfs *rootfs, const char *file,
	      struct error *err);

/* The steps of that, for a rootfs that a reader has: it runs no tool. */
int ext4_make_empty(const struct ext4_spec *spec, const char *file, struct error *err);
/* A failure leaves it half written. */
int ext4_write(const struct ext4_spec *spec, struct rootfs *rootfs, const char *file,
	       struct error *err);
int ext4_fsck(const struct ext4_spec *spec, const char *file, struct error *err);

#endif
