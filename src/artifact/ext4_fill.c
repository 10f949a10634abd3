/* SPDX-License-Identifier: MIT */
/*
 * Writes the tree of a rootfs as inodes and directories. A directory is written in one pass, after
 * all files in it have inodes. So the directory need not be searched for a free place for each new
 * name.
 */
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact/artifact.h"
#include "artifact/ext4_fill.h"
#include "artifact/progress.h"
#include "base/cleanup.h"

#define LOST_FOUND "lost+found"
#define LOST_FOUND_INODE 11 /* the first inode number that is not reserved, for lost+found */
#define NAMES_MAX 65000	    /* the largest number of names that one file may have */
/* The position of the nanoseconds in the extra bits of a time. The two lowest of these bits extend
 * the seconds beyond 32 bits. */
#define NSEC_SHIFT 2

/* The state while the children of a directory are visited. */
struct visit {
	struct ext4_writer *writer;
	struct rootfs_node *dir;
	int (*child)(struct visit *v, struct rootfs_node *child);
	struct error *err;
	int result;
	/* The number of subdirectories, and the blocks of the directory. */
	unsigned dirs;
	struct ext4_blocks *blocks;
	uint8_t *block; /* the block of the directory that is being filled */
	size_t used;
	struct ext2_dir_entry *last;
	blk64_t count;
};

static void on_rootfs_child(const void *item, VISIT order, void *data)
{
	struct visit *v = data;

	if (v->result == 0 && (order == postorder || order == leaf))
		v->result = v->child(v, *(struct rootfs_node *const *)item);
}

static int visit_children(struct visit *v)
{
	twalk_r(v->dir->children, on_rootfs_child, v);
	return v->result;
}

/* --- inodes ---------------------------------------------------------------------------------- */

static bool is_lost_found(const struct ext4_writer *w, const struct rootfs_node *node)
{
	return !w->no_lost_found && node->parent && !node->parent->parent &&
	       strcmp(node->name, LOST_FOUND) == 0;
}

/* Allocates an inode for a node. Inodes are numbered in the order in which the tree is walked. */
static int take_inode(struct ext4_writer *w, struct rootfs_node *node, struct error *err)
{
	struct rootfs_file *file = node->file;
	ext2_ino_t number;
	errcode_t code;

	if (!node->parent || is_lost_found(w, node)) {
		file->inode = node->parent ? LOST_FOUND_INODE : EXT2_ROOT_INO;
		return 0;
	}
	if (file->names > NAMES_MAX)
		return error_set(
			err, ERR_UNSUPPORTED,
			"\"%.300s\" is a file with more than %d names (hard links), the most that ext4 can store: make the archive with fewer",
			node->name, NAMES_MAX);
	/* The search for a free inode begins at the last allocated inode, because all inodes with
	 * lower numbers are in use. */
	code = ext2fs_new_inode(w->fs, w->last_inode, 0, NULL, &number);
	if (code != 0)
		return ext4_failed(code, "", err);
	ext2fs_inode_alloc_stats2(w->fs, number, +1, S_ISDIR(file->mode));
	w->last_inode = number;
	file->inode = number;
	return 0;
}

static void describe_inode(const struct rootfs_file *file, struct ext2_inode_large *inode)
{
	const __u32 time = (__u32)file->time;
	const int64_t beyond = (file->time - (int32_t)file->time) >> 32;
	const __u32 extra = (__u32)(beyond & 3) | file->nsec << NSEC_SHIFT;

	*inode = (struct ext2_inode_large){
		.i_mode = (__u16)file->mode,
		.i_links_count = (__u16)file->names,
		.i_extra_isize = sizeof(*inode) - EXT2_GOOD_OLD_INODE_SIZE,
		.i_atime = time,
		.i_ctime = time,
		.i_mtime = time,
		.i_crtime = time,
		.i_atime_extra = extra,
		.i_ctime_extra = extra,
		.i_mtime_extra = extra,
		.i_crtime_extra = extra,
	};
	inode->i_uid = (__u16)file->uid;
	inode->i_gid = (__u16)file->gid;
	inode->osd2.linux2.l_i_uid_high = (__u16)(file->uid >> 16);
	inode->osd2.linux2.l_i_gid_high = (__u16)(file->gid >> 16);
}

static int write_inode(struct ext4_writer *w, const struct rootfs_file *file,
		       struct ext2_inode_large *inode, struct error *err)
{
	struct ext2_xattr_handle *handle = NULL;
	errcode_t code = ext2fs_write_inode_full(w->fs, file->inode, (struct ext2_inode *)inode,
						 sizeof(*inode));

	if (code != 0 || file->xattr_count == 0)
		return ext4_failed(code, "", err);
	code = ext2fs_xattrs_open(w->fs, file->inode, &handle);
	for (size_t i = 0; i < file->xattr_count && code == 0; i++)
		code = ext2fs_xattr_set(handle, file->xattrs[i].name, file->xattrs[i].value,
					file->xattrs[i].len);
	if (handle)
		ext2fs_xattrs_close(&handle);
	return ext4_failed(code, "extended attributes", err);
}

/* --- directories ----------------------------------------------------------------------------- */

/* Writes the current block of the directory. The last entry of the block is extended to the end of
 * the block, except for the bytes of the checksum. */
static int end_block(struct visit *v)
{
	ext2_filsys fs = v->writer->fs;
	const size_t room = fs->blocksize - sizeof(struct ext2_dir_entry_tail);
	blk64_t number;

	if (v->used == 0)
		return 0;
	v->last->rec_len = (__u16)(v->last->rec_len + room - v->used);
	ext2fs_initialize_dirent_tail(fs, EXT2_DIRENT_TAIL(v->block, fs->blocksize));
	if (ext4_blocks_add(v->blocks, v->count, &number, v->err) < 0)
		return -1;
	v->count++;
	v->used = 0;
	return ext4_failed(ext2fs_write_dir_block4(fs, number, v->block, 0, v->blocks->number), "",
			   v->err);
}

static int add_dir_entry(struct visit *v, const char *name, ext2_ino_t inode, int type)
{
	ext2_filsys fs = v->writer->fs;
	const size_t len = strlen(name), need = EXT2_DIR_REC_LEN(len);

	if (v->used + need > fs->blocksize - sizeof(struct ext2_dir_entry_tail) && end_block(v) < 0)
		return -1;
	if (v->used == 0)
		memset(v->block, 0, fs->blocksize);
	v->last = (struct ext2_dir_entry *)(v->block + v->used);
	v->last->inode = inode;
	v->last->rec_len = (__u16)need;
	ext2fs_dirent_set_name_len(v->last, (int)len);
	ext2fs_dirent_set_file_type(v->last, type);
	memcpy(v->last->name, name, len);
	v->used += need;
	return 0;
}

static int add_child(struct visit *v, struct rootfs_node *child)
{
	const mode_t mode = child->file->mode;

	return add_dir_entry(v, child->name, child->file->inode,
			     S_ISDIR(mode)    ? EXT2_FT_DIR
			     : S_ISLNK(mode)  ? EXT2_FT_SYMLINK
			     : S_ISFIFO(mode) ? EXT2_FT_FIFO
					      : EXT2_FT_REG_FILE);
}

static int write_names(struct ext4_writer *w, struct rootfs_node *dir, unsigned dirs,
		       struct error *err)
{
	struct ext2_inode_large inode;
	struct ext2_inode *small = (struct ext2_inode *)&inode;
	const ext2_ino_t own = dir->file->inode;
	auto_blocks struct ext4_blocks blocks = {0};
	struct visit v = {.writer = w,
			  .dir = dir,
			  .child = add_child,
			  .err = err,
			  .dirs = dirs,
			  .blocks = &blocks,
			  .block = w->chunk};

	describe_inode(dir->file, &inode);
	if (ext4_blocks_begin(&blocks, w, own, small, err) < 0 ||
	    add_dir_entry(&v, ".", own, EXT2_FT_DIR) < 0 ||
	    add_dir_entry(&v, "..", dir->parent ? dir->parent->file->inode : own, EXT2_FT_DIR) <
		    0 ||
	    visit_children(&v) < 0)
		return -1;
	if (!dir->parent && !w->has_lost_found && !w->no_lost_found) {
		v.dirs++;
		if (add_dir_entry(&v, LOST_FOUND, LOST_FOUND_INODE, EXT2_FT_DIR) < 0)
			return -1;
	}
	if (end_block(&v) < 0 || ext4_blocks_end(&blocks, err) < 0)
		return -1;
	/* The links to a directory are its name, the "." in it, and the ".." of each directory in
	 * it. If there are more links than ext4 can count, ext4 uses the number 1. */
	inode.i_links_count = v.dirs + 2 > NAMES_MAX ? 1 : (__u16)(v.dirs + 2);
	errcode_t code =
		ext2fs_inode_size_set(w->fs, small, (ext2_off64_t)(v.count * w->fs->blocksize));
	return code != 0 ? ext4_failed(code, "", err) : write_inode(w, dir->file, &inode, err);
}

static int write_node(struct visit *v, struct rootfs_node *node);

static int write_dir(struct ext4_writer *w, struct rootfs_node *dir, struct error *err)
{
	struct visit v = {.writer = w, .dir = dir, .child = write_node, .err = err};

	if (take_inode(w, dir, err) < 0 || visit_children(&v) < 0)
		return -1;
	return write_names(w, dir, v.dirs, err);
}

static int write_node(struct visit *v, struct rootfs_node *node)
{
	struct ext4_writer *w = v->writer;
	struct rootfs_file *file = node->file;
	struct ext2_inode_large inode;

	if (artifact_check_signal(v->err) < 0)
		return -1;
	progress_count(++w->done, w->rootfs->count);
	if (S_ISDIR(file->mode)) {
		v->dirs++;
		return write_dir(w, node, v->err);
	}
	if (file->inode)
		return 0; /* the file was already written under another name */
	if (take_inode(w, node, v->err) < 0)
		return -1;
	describe_inode(file, &inode);
	if (!S_ISFIFO(file->mode) &&
	    ext4_write_contents(w, file, file->inode, (struct ext2_inode *)&inode, v->err) < 0)
		return -1;
	/* The image now has the contents, so the data file is removed to free its space on the
	 * host's disk. */
	rootfs_remove_data(w->rootfs, file);
	return write_inode(w, file, &inode, v->err);
}

/* Frees the blocks of a directory that mke2fs has made, because this program writes the directory
 * again from the beginning. */
static int give_up_blocks(struct ext4_writer *w, ext2_ino_t number, struct error *err)
{
	return ext4_failed(ext2fs_punch(w->fs, number, NULL, NULL, 0, ~0ULL), "", err);
}

/* Removes the directory lost+found, which mke2fs has made. The root directory is written anew
 * without its name. */
static int remove_lost_found(struct ext4_writer *w, struct error *err)
{
	struct ext2_inode_large none = {0};

	if (give_up_blocks(w, LOST_FOUND_INODE, err) < 0)
		return -1;
	ext2fs_inode_alloc_stats2(w->fs, LOST_FOUND_INODE, -1, 1);
	return ext4_failed(ext2fs_write_inode_full(w->fs, LOST_FOUND_INODE,
						   (struct ext2_inode *)&none, sizeof(none)),
			   "", err);
}

int ext4_fill(struct ext4_writer *writer, struct error *err)
{
	const struct rootfs_file *lost_found =
		writer->no_lost_found ? NULL : rootfs_find(writer->rootfs, "/" LOST_FOUND);

	if (lost_found && !S_ISDIR(lost_found->mode))
		return error_set(
			err, ERR_UNSUPPORTED,
			"/" LOST_FOUND
			" of the image is not a directory, but ext4 needs a directory there: make the image without it");
	writer->has_lost_found = lost_found != NULL;
	if (give_up_blocks(writer, EXT2_ROOT_INO, err) < 0 ||
	    (lost_found && give_up_blocks(writer, LOST_FOUND_INODE, err) < 0) ||
	    (writer->no_lost_found && remove_lost_found(writer, err) < 0))
		return -1;
	return write_dir(writer, &writer->rootfs->root, err);
}
