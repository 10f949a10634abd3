/* SPDX-License-Identifier: MIT */
/* Writes contents into a file system that mke2fs has made. */
#ifndef ARTIFACT_EXT4_DATA_H
#define ARTIFACT_EXT4_DATA_H

#include <ext2fs/ext2fs.h>

#include "artifact/rootfs_impl.h"

struct ext4_writer {
	ext2_filsys fs;
	int image;	/* descriptor of the file that has the file system; contents are written to
			 * it directly, without the cache of libext2fs */
	uint8_t *chunk; /* EXT4_CHUNK bytes */
	blk64_t goal;	/* number of the block at which the search for the next free block begins,
			 * so that each file follows the previous file */
	struct rootfs *rootfs;
	ext2_ino_t last_inode;
	bool has_lost_found; /* the rootfs has a directory lost+found */
	bool no_lost_found;  /* as in struct ext4_spec */
	size_t done;	     /* number of names that have been written */
};
#define EXT4_CHUNK (1u << 20)

/* Sets the error for an error code of libext2fs. `about` is the name of the file, or "". Returns
 * -1. */
int ext4_failed(errcode_t code, const char *about, struct error *err);

/* The state while blocks are added to an inode. The blocks are added in the order of the file. */
struct ext4_blocks {
	struct ext4_writer *writer;
	ext2_ino_t number;
	struct ext2_inode *inode;
	ext2_extent_handle_t handle;
	struct ext2fs_extent last; /* the last extent, which is not written yet; its e_len is 0 if
				    * there is no extent */
};
int ext4_blocks_begin(struct ext4_blocks *b, struct ext4_writer *writer, ext2_ino_t number,
		      struct ext2_inode *inode, struct error *err);
/* Allocates a block of the file system for the file's block `at`, and sets *out to the number of
 * the allocated block. */
int ext4_blocks_add(struct ext4_blocks *b, blk64_t at, blk64_t *out, struct error *err);
/* Writes `count` whole blocks of data to the file, to its blocks from number `at` on. */
int ext4_blocks_write(struct ext4_blocks *b, blk64_t at, const uint8_t *data, blk64_t count,
		      struct error *err);
int ext4_blocks_end(struct ext4_blocks *b, struct error *err);
void ext4_blocks_free(struct ext4_blocks *b);
#define auto_blocks __attribute__((cleanup(ext4_blocks_free)))

/* Writes the contents of a regular file or of a link to the inode. */
int ext4_write_contents(struct ext4_writer *writer, struct rootfs_file *file, ext2_ino_t number,
			struct ext2_inode *inode, struct error *err);

#endif
