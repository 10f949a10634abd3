/* SPDX-License-Identifier: MIT */
/*
 * Allocates blocks for inodes and writes the contents of files to these blocks. The blocks of a
 * file follow the blocks of the previous file, so that a file has consecutive blocks. Blocks of
 * zeros become holes. This code writes the bytes itself and not through libext2fs, because the
 * cache of libext2fs is useful only for blocks that are read again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/ext4_data.h"
#include "artifact/progress.h"
#include "base/cleanup.h"

#define EXTENT_MAX 32768 /* the largest number of blocks in one extent */
#define FAST_LINK 60	 /* a symbolic link with fewer bytes has its target in its inode */

int ext4_failed(errcode_t code, const char *about, struct error *err)
{
	if (code == 0)
		return 0;
	if (code == EXT2_ET_BLOCK_ALLOC_FAIL || code == EXT2_ET_INODE_ALLOC_FAIL)
		return error_set(
			err, ERR_IO,
			"the file system that is being made is full: make it on a larger disk");
	/* A code below EXT2_ET_BASE is the errno of a system call. Any other code is an error of
	 * libext2fs about the file system that this program writes. */
	if (code < EXT2_ET_BASE)
		return error_errno(err, (int)code, "the file system%s%s", *about ? ": " : "",
				   about);
	return error_set(
		err, ERR_IO,
		"the file system that is being made%s%s is damaged (error %ld of libext2fs): this is a bug, or this host's disk has an error",
		*about ? ": " : "", about, code);
}

int ext4_blocks_begin(struct ext4_blocks *b, struct ext4_writer *writer, ext2_ino_t number,
		      struct ext2_inode *inode, struct error *err)
{
	*b = (struct ext4_blocks){.writer = writer, .number = number, .inode = inode};
	inode->i_flags |= EXT4_EXTENTS_FL;
	return ext4_failed(ext2fs_extent_open2(writer->fs, number, inode, &b->handle), "", err);
}

void ext4_blocks_free(struct ext4_blocks *b)
{
	ext2fs_extent_free(b->handle);
	b->handle = NULL;
}

static int put_extent(struct ext4_blocks *b, struct error *err)
{
	errcode_t code;

	if (b->last.e_len == 0)
		return 0;
	code = ext2fs_extent_insert(b->handle, EXT2_EXTENT_INSERT_AFTER, &b->last);
	if (code == 0)
		code = ext2fs_extent_fix_parents(b->handle);
	b->last.e_len = 0;
	return ext4_failed(code, "", err);
}

/* Allocates up to `want` consecutive blocks of the file system, for the blocks of the file that
 * begin at number `at`. Sets *first to the first allocated block and *count to their number. */
static int take_blocks(struct ext4_blocks *b, blk64_t at, blk64_t want, blk64_t *first,
		       blk64_t *count, struct error *err)
{
	struct ext4_writer *w = b->writer;
	struct ext2fs_extent *last = &b->last;
	errcode_t code = ext2fs_new_range(w->fs, 0, w->goal, want < EXTENT_MAX ? want : EXTENT_MAX,
					  NULL, first, count);

	if (code != 0)
		return ext4_failed(code, "", err);
	ext2fs_block_alloc_stats_range(w->fs, *first, (blk_t)*count, +1);
	w->goal = *first + *count;
	code = ext2fs_iblk_add_blocks(w->fs, b->inode, *count);
	if (code != 0)
		return ext4_failed(code, "", err);
	if (last->e_len > 0 && last->e_lblk + last->e_len == at &&
	    last->e_pblk + last->e_len == *first && last->e_len + *count <= EXTENT_MAX) {
		last->e_len += (__u32)*count;
		return 0;
	}
	if (put_extent(b, err) < 0)
		return -1;
	*last = (struct ext2fs_extent){.e_lblk = at, .e_pblk = *first, .e_len = (__u32)*count};
	return 0;
}

int ext4_blocks_add(struct ext4_blocks *b, blk64_t at, blk64_t *out, struct error *err)
{
	blk64_t count;

	return take_blocks(b, at, 1, out, &count, err);
}

static int write_image_at(int fd, const uint8_t *data, size_t len, off_t at, struct error *err)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, at);

		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "writing the image");
		if (n > 0) {
			data += n;
			len -= (size_t)n;
			at += n;
		}
	}
	return 0;
}

int ext4_blocks_write(struct ext4_blocks *b, blk64_t at, const uint8_t *data, blk64_t count,
		      struct error *err)
{
	const size_t size = b->writer->fs->blocksize;

	while (count > 0) {
		blk64_t first, got;

		if (take_blocks(b, at, count, &first, &got, err) < 0 ||
		    write_image_at(b->writer->image, data, got * size, (off_t)(first * size), err) <
			    0)
			return -1;
		at += got;
		data += got * size;
		count -= got;
	}
	return 0;
}

int ext4_blocks_end(struct ext4_blocks *b, struct error *err)
{
	return put_extent(b, err);
}

static bool is_zero(const uint8_t *block, size_t size)
{
	return block[0] == 0 && memcmp(block, block + 1, size - 1) == 0;
}

/* Writes those blocks of a chunk that are not all zeros. Only the file's bytes decide where the
 * image has holes. The holes of the file on the host are not copied, so that the same contents
 * always give the same image. */
static int put_chunk(struct ext4_blocks *b, blk64_t at, size_t len, struct error *err)
{
	const size_t size = b->writer->fs->blocksize;
	const size_t count = (len + size - 1) / size;
	uint8_t *chunk = b->writer->chunk;
	size_t start = 0;

	memset(chunk + len, 0, count * size - len);
	while (start < count) {
		size_t end = start;

		while (end < count && !is_zero(chunk + end * size, size))
			end++;
		if (end > start &&
		    ext4_blocks_write(b, at + start, chunk + start * size, end - start, err) < 0)
			return -1;
		start = end + 1;
	}
	return 0;
}

static ssize_t read_data_chunk(int fd, uint8_t *chunk, size_t len, off_t at)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, chunk + done, len - done, at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Returns the offset of the next data of the file, rounded down to a multiple of EXT4_CHUNK.
 * Returns `size` if there is no more data. */
static uint64_t skip_hole(int fd, uint64_t at, uint64_t size)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? size : at;
	return (uint64_t)data & ~(uint64_t)(EXT4_CHUNK - 1);
}

/* Copies the contents that a source gives. Reads holes of the file too, since the source computes a
 * digest of all bytes. */
static int copy_from_source(struct ext4_blocks *b, int fd, const struct rootfs_file *file,
			    struct error *err)
{
	const struct rootfs_source *source = b->writer->rootfs->source;

	for (uint64_t at = 0; at < file->bytes; at += EXT4_CHUNK) {
		const uint64_t left = file->bytes - at;
		size_t len = left < EXT4_CHUNK ? (size_t)left : EXT4_CHUNK;

		if (source->read(source->data, fd, b->writer->chunk, len, err) < 0 ||
		    put_chunk(b, at / b->writer->fs->blocksize, len, err) < 0 ||
		    artifact_check_signal(err) < 0)
			return -1;
		progress_draw();
	}
	return source->end(source->data, fd, file, err);
}

static int copy_data_file(struct ext4_blocks *b, const struct rootfs_file *file, struct error *err)
{
	autoclose int fd = rootfs_read_data(b->writer->rootfs, file, err);

	if (fd < 0)
		return -1;
	for (uint64_t at = skip_hole(fd, 0, file->bytes); at < file->bytes;
	     at = skip_hole(fd, at + EXT4_CHUNK, file->bytes)) {
		const uint64_t left = file->bytes - at;
		size_t len = left < EXT4_CHUNK ? (size_t)left : EXT4_CHUNK;
		ssize_t n = read_data_chunk(fd, b->writer->chunk, len, (off_t)at);

		if (n < 0)
			return error_errno(err, errno, "%s", file->from ? file->from : "read");
		if ((size_t)n < len)
			return error_set(
				err, ERR_IO,
				"%s became shorter while it was read: another program changes it; try again when that has ended",
				file->from ? file->from : "it");
		if (put_chunk(b, at / b->writer->fs->blocksize, len, err) < 0 ||
		    artifact_check_signal(err) < 0)
			return -1;
		progress_draw();
	}
	return 0;
}

int ext4_write_contents(struct ext4_writer *writer, struct rootfs_file *file, ext2_ino_t number,
			struct ext2_inode *inode, struct error *err)
{
	const struct rootfs_source *source = file->data ? writer->rootfs->source : NULL;
	const size_t text = file->text ? strlen(file->text) : 0;
	auto_blocks struct ext4_blocks b = {0};
	autoclose int fd = -1;
	errcode_t code;

	/* The source knows the size only when it has opened the file, which may have grown. */
	if (source && (fd = source->open(source->data, file, err)) < 0)
		return -1;
	code = ext2fs_inode_size_set(writer->fs, inode,
				     (ext2_off64_t)(S_ISLNK(file->mode) ? text : file->bytes));
	if (code != 0)
		return ext4_failed(code, "", err);
	if (S_ISLNK(file->mode) && text < FAST_LINK) {
		if (text > 0)
			memcpy(inode->i_block, file->text, text);
		return 0;
	}
	if (ext4_blocks_begin(&b, writer, number, inode, err) < 0)
		return -1;
	for (size_t at = 0; at < text; at += EXT4_CHUNK) {
		size_t n = text - at < EXT4_CHUNK ? text - at : EXT4_CHUNK;

		memcpy(writer->chunk, file->text + at, n);
		if (put_chunk(&b, at / writer->fs->blocksize, n, err) < 0)
			return -1;
	}
	if (source ? copy_from_source(&b, fd, file, err) < 0
		   : (file->data || file->from) && copy_data_file(&b, file, err) < 0)
		return -1;
	return ext4_blocks_end(&b, err);
}
