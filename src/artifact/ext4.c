/* SPDX-License-Identifier: MIT */
#include "artifact/ext4.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/ext4_fill.h"
#include "artifact/progress.h"
#include "artifact/tool.h"
#include "base/cleanup.h"

/* The features of the file system. The features are listed here because the defaults of mke2fs
 * depend on the distribution. Linux 4.4 and later versions support these features. */
static const char features[] =
	"ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,"
	"sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum";

static int create_file(const char *file, uint64_t size, struct error *err)
{
	autoclose int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_errno(err, errno, "%s", file);
	if (ftruncate(fd, (off_t)size) == 0)
		return 0;
	error_errno(err, errno, "%s", file);
	unlink(file);
	return -1;
}

struct environment {
	char time[48];
	const char *vars[4];
};

static void fixed_environment(struct environment *env, const struct ext4_spec *spec)
{
	snprintf(env->time, sizeof(env->time), "E2FSPROGS_FAKE_TIME=%" PRId64, spec->time);
	env->vars[0] = env->time;
	/* These variables make the result independent of the user's locale and of the
	 * administrator's settings for mke2fs. */
	env->vars[1] = "LC_ALL=C";
	env->vars[2] = "MKE2FS_CONFIG=/nonexistent";
	env->vars[3] = NULL;
}

static char *directory_of(const char *file, struct error *err)
{
	const char *slash = strrchr(file, '/');
	char *dir = slash ? strndup(file, (size_t)(slash - file)) : strdup(".");

	if (!dir)
		error_errno(err, ENOMEM, "%s", file);
	return dir;
}

static int run_mke2fs(const struct ext4_spec *spec, const char *file, struct error *err)
{
	struct environment env;
	autobuf struct buf extended = BUF_INIT(0), journal = BUF_INIT(0), all = BUF_INIT(0);
	char inodes[24];
	const char *argv[] = {"mke2fs", "-q",  "-F",	   "-t",    "ext4",	 "-b", "4096",
			      "-I",	"256", "-i",	   "16384", "-m",	 "0",  "-O",
			      NULL,	"-U",  spec->uuid, "-L",    spec->label, "-E", NULL,
			      "-J",	NULL,  file,	   NULL};
	autofree char *dir = directory_of(file, err);
	/* A hostile image may have taken over the reader, and the reader could have replaced the
	 * new file by a link. So mke2fs may open files only in this directory. */
	const struct tool mke2fs = {
		.argv = argv, .env = env.vars, .alone_with = dir, .writes = true};

	if (!dir)
		return -1;
	fixed_environment(&env, spec);
	if (buf_printf(&extended, err,
		       "root_owner=0:0,hash_seed=%s,lazy_itable_init=0,lazy_journal_init=1",
		       spec->uuid) < 0 ||
	    buf_printf(&all, err, "none,%s%s", spec->journal_mib ? "has_journal," : "", features) <
		    0 ||
	    buf_printf(&journal, err, "size=%u", spec->journal_mib) < 0)
		return -1;
	argv[14] = buf_string(&all);
	argv[20] = buf_string(&extended);
	argv[22] = buf_string(&journal);
	if (spec->journal_mib == 0) {
		argv[21] = file;
		argv[22] = NULL;
	}
	if (spec->inodes > 0) {
		snprintf(inodes, sizeof(inodes), "%" PRIu64, spec->inodes);
		argv[9] = "-N";
		argv[10] = inodes;
	}
	return tool_run(&mke2fs, err);
}

int ext4_make_empty(const struct ext4_spec *spec, const char *file, struct error *err)
{
	static const char *const tools[] = {"mke2fs", "e2fsck", NULL};

	if (tool_require("making an image", tools, err) < 0 ||
	    create_file(file, spec->size, err) < 0)
		return -1;
	progress_stage("making the file system");
	if (run_mke2fs(spec, file, err) == 0)
		return 0;
	unlink(file);
	return -1;
}

int ext4_write(const struct ext4_spec *spec, struct rootfs *rootfs, const char *file,
	       struct error *err)
{
	autofree uint8_t *chunk = malloc(EXT4_CHUNK);
	autoclose int image = open(file, O_RDWR | O_CLOEXEC);
	struct ext4_writer writer = {.image = image,
				     .chunk = chunk,
				     .no_lost_found = spec->no_lost_found,
				     .rootfs = rootfs};
	errcode_t code;

	if (image < 0 || !chunk)
		return error_errno(err, errno, "%s", file);
	progress_stage("putting the files in their places");
	code = ext2fs_open2(file, NULL, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, unix_io_manager,
			    &writer.fs);
	if (code != 0)
		return ext4_failed(code, file, err);
	code = ext2fs_read_bitmaps(writer.fs);
	/* libext2fs gives this time to files for which no time is set. libext2fs also counts the
	 * written bytes in s_kbytes_written, but only if s_kbytes_written is not 0. The count would
	 * depend on libext2fs's cache, so the same contents could give other bytes. */
	writer.fs->now = spec->time;
	writer.fs->super->s_kbytes_written = 0;
	if (ext4_failed(code, "", err) < 0 || ext4_fill(&writer, err) < 0) {
		ext2fs_free(writer.fs);
		return -1;
	}
	/* The file is not synced here, because it is synced when it is published. */
	code = ext2fs_close2(writer.fs, EXT2_FLAG_FLUSH_NO_SYNC);
	if (code != 0)
		ext2fs_free(writer.fs);
	return ext4_failed(code, "", err);
}

int ext4_fsck(const struct ext4_spec *spec, const char *file, struct error *err)
{
	const char *argv[] = {"e2fsck", "-fn", file, NULL};
	autofree char *dir = directory_of(file, err);
	struct environment env;
	const struct tool e2fsck = {.argv = argv, .env = env.vars, .alone_with = dir};

	if (!dir)
		return -1;
	fixed_environment(&env, spec);
	progress_stage("checking the file system");
	return tool_run(&e2fsck, err);
}

int ext4_make(const struct ext4_spec *spec, struct rootfs *rootfs, const char *file,
	      struct error *err)
{
	if (ext4_make_empty(spec, file, err) < 0)
		return -1;
	if (ext4_write(spec, rootfs, file, err) == 0 && ext4_fsck(spec, file, err) == 0)
		return 0;
	unlink(file);
	return -1;
}
