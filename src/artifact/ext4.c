/* SPDX-License-Identifier: MIT */
#include "artifact/ext4.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/progress.h"
#include "artifact/tool.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

/* Named one by one, since the defaults are the distribution's. Every kernel since 4.4 and all of
 * ours have these. */
static const char features[] =
	"none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,"
	"sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum";
#define REPLY_BYTES (1u << 20)
/* debugfs reads 8191 bytes of a line, takes what is behind them for the next command, and a command
 * that begins with '!' for the shell's. */
#define COMMAND_BYTES 8190

static int create_file(const char *file, uint64_t size, struct error *err)
{
	autoclose int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return error_errno(err, errno, "%s", file);
	return 0;
}

struct environment {
	char time[48];
	const char *vars[5];
};

static void fixed_environment(struct environment *env, const struct ext4_spec *spec)
{
	snprintf(env->time, sizeof(env->time), "E2FSPROGS_FAKE_TIME=%" PRId64, spec->time);
	env->vars[0] = env->time;
	/* Names are sorted by the locale; settings come from the administrator's file. */
	env->vars[1] = "LC_ALL=C";
	env->vars[2] = "MKE2FS_CONFIG=/nonexistent";
	env->vars[3] = "DEBUGFS_PAGER=cat";
	env->vars[4] = NULL;
}

static int make(const struct ext4_spec *spec, const struct environment *env, const char *stage,
		const char *file, struct error *err)
{
	autobuf struct buf extended = BUF_INIT(0), journal = BUF_INIT(0);
	char inodes[24];
	const char *argv[] = {"mke2fs", "-q",  "-F",	   "-t",    "ext4",	 "-b", "4096",
			      "-I",	"256", "-i",	   "16384", "-m",	 "0",  "-O",
			      features, "-U",  spec->uuid, "-L",    spec->label, "-E", NULL,
			      "-J",	NULL,  "-d",	   stage,   file,	 NULL};
	const struct tool mke2fs = {.argv = argv, .env = env->vars};

	if (buf_printf(&extended, err,
		       "root_owner=0:0,hash_seed=%s,lazy_itable_init=0,lazy_journal_init=1",
		       spec->uuid) < 0 ||
	    buf_printf(&journal, err, "size=%u", spec->journal_mib) < 0)
		return -1;
	argv[20] = buf_string(&extended);
	argv[22] = buf_string(&journal);
	if (spec->inodes > 0) {
		snprintf(inodes, sizeof(inodes), "%" PRIu64, spec->inodes);
		argv[9] = "-N";
		argv[10] = inodes;
	}
	return tool_run(&mke2fs, err);
}

/* debugfs takes "x" with a quote doubled inside. What is quoted may come from a hostile archive. */
static int quote(struct buf *out, const char *text, struct error *err)
{
	if (buf_append(out, "\"", 1, err) < 0)
		return -1;
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return error_set(err, ERR_UNSUPPORTED, "a name with control characters");
		if (*text == '"' && buf_append(out, "\"", 1, err) < 0)
			return -1;
		if (buf_append(out, text, 1, err) < 0)
			return -1;
	}
	return buf_append(out, "\"", 1, err);
}

/* Ends the line that began at start. */
static int end_command(struct buf *out, size_t start, const char *path, struct error *err)
{
	if (out->len - start > COMMAND_BYTES)
		return error_set(err, ERR_UNSUPPORTED,
				 "a name and its attributes are longer than debugfs takes: "
				 "\"%.100s...\"",
				 path);
	return buf_append(out, "\n", 1, err);
}

static int set_field(struct buf *out, const char *path, const char *field, const char *value,
		     struct error *err)
{
	size_t start = out->len;

	if (buf_printf(out, err, "sif ") < 0 || quote(out, path, err) < 0 ||
	    buf_printf(out, err, " %s %s", field, value) < 0)
		return -1;
	return end_command(out, start, path, err);
}

/* What mke2fs has taken from the staging directory; the root is none of it, and has no type. */
static struct stat staged(int stage, const struct tree_entry *entry)
{
	struct stat st = {0};

	if (!entry->path[1] || fstatat(stage, entry->path + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return (struct stat){0};
	return st;
}

/* Each command has debugfs look through the whole directory of the file: those are left out that
 * would change nothing. Not of atime, which whoever reads the staged file changes. */
static int set_entry(struct buf *out, int stage, const struct tree_entry *entry, struct error *err)
{
	const struct stat st = staged(stage, entry);
	const bool there = st.st_mode != 0;
	char mode[32], uid[32], gid[32], time[32];
	const struct {
		const char *field, *value;
		bool is_so;
	} fields[] = {
		{"mode", mode, there && st.st_mode == entry->mode},
		{"uid", uid, there && st.st_uid == entry->uid},
		{"gid", gid, there && st.st_gid == entry->gid},
		{"atime", time, false},
		{"mtime", time, there && st.st_mtime == entry->time},
		{"ctime", time, false},
		{"crtime", time, false},
	};

	snprintf(mode, sizeof(mode), "0%o", entry->mode);
	snprintf(uid, sizeof(uid), "%u", entry->uid);
	snprintf(gid, sizeof(gid), "%u", entry->gid);
	snprintf(time, sizeof(time), "@%" PRId64, entry->time);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!fields[i].is_so &&
		    set_field(out, entry->path, fields[i].field, fields[i].value, err) < 0)
			return -1;
	return 0;
}

/* A value can be any bytes: debugfs reads it from a file. */
static int set_xattr(struct buf *out, const char *path, const struct tree_xattr *xattr,
		     const char *value, struct error *err)
{
	autoclose int fd = open(value, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t start = out->len;

	if (fd < 0)
		return error_errno(err, errno, "%s", value);
	if (fd_write_all(fd, xattr->value, xattr->len, err) < 0 ||
	    buf_printf(out, err, "ea_set -f ") < 0 || quote(out, value, err) < 0 ||
	    buf_printf(out, err, " ") < 0 || quote(out, path, err) < 0 ||
	    buf_printf(out, err, " ") < 0 || quote(out, xattr->name, err) < 0)
		return -1;
	return end_command(out, start, path, err);
}

/* "<file>.value-N": of the attribute N of all. */
static char *value_file(const char *file, size_t n, struct error *err)
{
	autobuf struct buf b = BUF_INIT(0);

	return buf_printf(&b, err, "%s.value-%zu", file, n) < 0 ? NULL : buf_steal_string(&b, err);
}

static int set_xattrs(struct buf *out, const struct tree *tree, const char *file, struct error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < tree->count; i++)
		for (size_t j = 0; j < tree->entries[i].xattr_count; j++) {
			autofree char *value = value_file(file, n++, err);

			if (!value || set_xattr(out, tree->entries[i].path,
						&tree->entries[i].xattrs[j], value, err) < 0)
				return -1;
		}
	return 0;
}

static void remove_values(const struct tree *tree, const char *file)
{
	size_t n = 0;

	for (size_t i = 0; i < tree->count; i++)
		for (size_t j = 0; j < tree->entries[i].xattr_count; j++) {
			autofree char *value = value_file(file, n++, NULL);

			if (value)
				unlink(value);
		}
}

/* debugfs ends with 0 whatever it met: anything on its stderr but its banner is a failure. */
static int check_errors(struct buf *errors, struct error *err)
{
	const char *text = buf_string(errors);
	const char *rest = strncmp(text, "debugfs ", 8) == 0 ? strchr(text, '\n') : text;

	while (rest && (*rest == '\n' || *rest == ' '))
		rest++;
	if (!rest || !*rest)
		return 0;
	return error_set(err, ERR_IO, "debugfs: %.*s", (int)strcspn(rest, "\n"), rest);
}

/* It echoes each command before it does it. */
struct doing {
	size_t done, total;
};

static void on_echo(void *data, const char *line)
{
	struct doing *doing = data;

	(void)line;
	progress_count(++doing->done, doing->total);
}

static size_t count_lines(const struct buf *text)
{
	const char *at = (const char *)buf_bytes(text), *end = at + text->len;
	size_t n = 0;

	for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
		n++;
	return n;
}

static int set_attributes(const struct tree *tree, const struct environment *env, const char *stage,
			  const char *file, struct error *err)
{
	autoclose int dir = path_open_dir(stage, err);
	autobuf struct buf script = BUF_INIT(0), errors = BUF_INIT(REPLY_BYTES);
	const char *argv[] = {"debugfs", "-w", "-f", "/dev/stdin", file, NULL};
	struct doing doing = {0};
	struct tool debugfs = {
		.argv = argv, .env = env->vars, .errors = &errors, .line = on_echo, .data = &doing};

	/* How much has been written depends on who stages; at 0 it is not counted. */
	if (dir < 0 || buf_printf(&script, err, "ssv kbytes_written 0\n") < 0 ||
	    set_xattrs(&script, tree, file, err) < 0)
		return -1;
	for (size_t i = 0; i < tree->count; i++)
		if (set_entry(&script, dir, &tree->entries[i], err) < 0)
			return -1;
	autoclose int fd = fd_memfd("debugfs", buf_bytes(&script), script.len, err);
	if (fd < 0)
		return -1;
	debugfs.stdin_fd = fd;
	doing.total = count_lines(&script);
	progress_stage("setting owners and modes");
	if (tool_run(&debugfs, err) < 0)
		return -1;
	return check_errors(&errors, err);
}

static int check(const struct environment *env, const char *file, struct error *err)
{
	const char *argv[] = {"e2fsck", "-fn", file, NULL};
	const struct tool e2fsck = {.argv = argv, .env = env->vars};

	progress_stage("checking the file system");
	return tool_run(&e2fsck, err);
}

int ext4_make(const struct ext4_spec *spec, const struct tree *tree, const char *stage,
	      const char *file, struct error *err)
{
	static const char *const tools[] = {"mke2fs", "debugfs", "e2fsck", NULL};
	struct environment env = {0};
	int result;

	if (tool_require("making an image", tools, err) < 0 ||
	    create_file(file, spec->size, err) < 0)
		return -1;
	fixed_environment(&env, spec);
	progress_stage("making the file system");
	result = make(spec, &env, stage, file, err);
	if (result == 0)
		result = set_attributes(tree, &env, stage, file, err);
	if (result == 0)
		result = check(&env, file, err);
	remove_values(tree, file);
	if (result < 0)
		unlink(file);
	return result;
}
