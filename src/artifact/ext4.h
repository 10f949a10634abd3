/* SPDX-License-Identifier: MIT */
/*
 * Makes a raw ext4 file system from a rootfs, without root: mke2fs makes an empty file system,
 * libext2fs writes into it, and e2fsck checks the result. Identifiers, hash seed and times are
 * fixed, so that the same contents give the same bytes on every host.
 */
#ifndef ARTIFACT_EXT4_H
#define ARTIFACT_EXT4_H

#include <stdint.h>

#include "artifact/rootfs.h"

struct ext4_spec {
	const char *label;
	const char *uuid; /* also the seed of directory hashes */
	uint64_t size;	  /* size of the file system in bytes; the file is sparse */
	unsigned journal_mib;
	int64_t time;	 /* seconds since 1970, not 0 */
	uint64_t inodes; /* number of inodes; 0: one for each 16 KiB of the file system */
};

/* Makes the file system in a new file; `file` must not exist. Removes each data file of the rootfs
 * once its contents are in the image. */
int ext4_make(const struct ext4_spec *spec, struct rootfs *rootfs, const char *file,
	      struct error *err);

/* Makes an empty file system. ext4_make_empty(), ext4_write() and ext4_fsck() are the three steps
 * of ext4_make(). They are separate because a reader (reader.h) can start no tool: if the rootfs is
 * in a reader, this calls only ext4_write(), and its parent calls the other two. */
int ext4_make_empty(const struct ext4_spec *spec, const char *file, struct error *err);
/* Writes the rootfs into the empty file system. After a failure the file is half written. */
int ext4_write(const struct ext4_spec *spec, struct rootfs *rootfs, const char *file,
	       struct error *err);
/* Checks the file system with e2fsck. */
int ext4_fsck(const struct ext4_spec *spec, const char *file, struct error *err);

#endif
