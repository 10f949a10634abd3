/* SPDX-License-Identifier: MIT */
/*
 * Makes a raw ext4 file system from a rootfs, without the rights of root. mke2fs makes an empty
 * file system, libext2fs writes into it, and e2fsck checks the result. Identifiers, hash seed and
 * times are fixed, so that the same contents give the same bytes on every host.
 */
#ifndef ARTIFACT_EXT4_H
#define ARTIFACT_EXT4_H

#include <stdbool.h>
#include <stdint.h>

#include "artifact/rootfs.h"

struct ext4_spec {
	const char *label;
	const char *uuid; /* UUID of the file system, also used as the seed of directory hashes */
	uint64_t size;	  /* size of the file system in bytes; the file is sparse */
	unsigned
		journal_mib; /* size of the journal in MiB; 0: a file system without a journal, which is
			       * only mounted read-only */
	int64_t time;	    /* fixed time of the file system in seconds since 1970; must not be 0 */
	bool no_lost_found; /* the root directory gets no directory lost+found, which only e2fsck
			     * needs when it repairs a file system */
	uint64_t inodes;    /* number of inodes; 0: one for each 16 KiB of the file system */
};

/* Makes the file system in the new file `file`, which must not exist. Removes each data file of the
 * rootfs after its contents are written to the file system. */
int ext4_make(const struct ext4_spec *spec, struct rootfs *rootfs, const char *file,
	      struct error *err);

/* Makes an empty file system. The three steps of ext4_make() are ext4_make_empty(), ext4_write()
 * and ext4_fsck(). The steps are separate because a reader (reader.h) cannot start a tool. A reader
 * that has the rootfs calls only ext4_write(), and its parent calls the two functions that start
 * tools. */
int ext4_make_empty(const struct ext4_spec *spec, const char *file, struct error *err);
/* Writes the rootfs into the empty file system. If the call fails, the file may contain some files
 * of the rootfs. */
int ext4_write(const struct ext4_spec *spec, struct rootfs *rootfs, const char *file,
	       struct error *err);
/* Checks the file system with e2fsck. */
int ext4_fsck(const struct ext4_spec *spec, const char *file, struct error *err);

#endif
