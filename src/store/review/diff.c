/* SPDX-License-Identifier: MIT */
/*
 * The patch is made by git of two commits in a repository of its own, in the scratch directory:
 * one with the old files of all changes, the other with the new ones. They are brought there by `git
 * fast-import`, which reads paths and contents as they are. So no name, no .gitattributes and no
 * filter of the guest has an effect on git, and neither has the configuration of the user.
 */
#include "store/review/diff.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/program.h"
#include "store/review/dirs.h"
#include "store/review/select.h"

#define OLD_DIR "old"
#define REPOSITORY "repository"
#define OLD_REF "refs/review/old"
#define NEW_REF "refs/review/new"
#define PART ((size_t)1 << 16)
/* The part of git's messages that an error has. */
#define SAID_BYTES 600

struct diffing {
	const struct review_diff *in;
	bool *chosen;		/* one for each change */
	struct buf out;		/* what is sent to fast-import next */
	int to;			/* a socket that fast-import reads */
	struct review_dirs old; /* the files of the image */
	struct review_dirs tree;
	char *git;
	char *env[8];
	uint8_t part[PART];
};

/* --- git ------------------------------------------------------------------------------------- */

static int make_environment(struct diffing *d, struct error *err)
{
	const char *path = getenv("PATH");
	const char *scratch = d->in->scratch_path;
	const char *const wanted[][2] = {
		{"PATH=%s", path ? path : "/usr/bin:/bin"},
		/* A directory without a configuration, which the user's own home has. */
		{"HOME=%s/" REPOSITORY, scratch},
		{"GIT_DIR=%s/" REPOSITORY, scratch},
		{"GIT_CONFIG_NOSYSTEM=%s", "1"},
		{"GIT_CONFIG_GLOBAL=%s", "/dev/null"},
		{"GIT_ATTR_NOSYSTEM=%s", "1"},
		{"LC_ALL=%s", "C"},
	};

	_Static_assert(ARRAY_SIZE(wanted) < ARRAY_SIZE(d->env), "room for a NULL");
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const char *equals = strstr(wanted[i][0], "%s");

		if (asprintf(&d->env[i], "%.*s%s%s", (int)(equals - wanted[i][0]), wanted[i][0],
			     wanted[i][1], equals + 2) < 0) {
			d->env[i] = NULL;
			return error_errno(err, ENOMEM, "environment");
		}
	}
	return 0;
}

struct git {
	struct proc proc;
	int said; /* a file with what git writes to stderr */
};

/* Starts git. `in` and `out` become its stdin and stdout; -1: /dev/null. */
static int start_git(struct diffing *d, const char *const *argv, int in, int out, struct git *git,
		     struct error *err)
{
	struct proc_fd fds[3];
	size_t n = 0;

	git->said = fd_memfd("git", "", 0, err);
	if (git->said < 0)
		return -1;
	fds[n++] = (struct proc_fd){git->said, STDERR_FILENO};
	if (in >= 0)
		fds[n++] = (struct proc_fd){in, STDIN_FILENO};
	if (out >= 0)
		fds[n++] = (struct proc_fd){out, STDOUT_FILENO};
	const struct proc_spec spec = {.argv = argv,
				       .envp = (const char *const *)d->env,
				       .fds = fds,
				       .nfds = n,
				       .die_with_parent = true,
				       .cwd = d->in->scratch_path};

	if (proc_spawn(&spec, &git->proc, err) == 0)
		return 0;
	close(steal_fd(&git->said));
	return error_prefix(err, "git");
}

static int end_git(struct git *git, const char *command, struct error *err)
{
	char said[SAID_BYTES + 1] = "";
	int code = 0, status;
	ssize_t n;

	status = proc_wait(&git->proc, UINT64_MAX, &code, err);
	proc_end(&git->proc);
	n = pread(git->said, said, SAID_BYTES, 0);
	close(steal_fd(&git->said));
	if (status < 0)
		return -1;
	/* Nobody wants the rest of the patch. */
	if (code == 0 || code == 128 + SIGPIPE)
		return 0;
	while (n > 0 && said[n - 1] == '\n')
		said[--n] = '\0';
	return error_set(err, ERR_IO, "git %s failed with exit code %d: %s", command, code, said);
}

static int run_git(struct diffing *d, const char *const *argv, int out, struct error *err)
{
	struct git git = {.proc = PROC_NONE, .said = -1};

	return start_git(d, argv, -1, out, &git, err) < 0 ? -1 : end_git(&git, argv[1], err);
}

/* --- the stream for fast-import -------------------------------------------------------------- */

static int flush(struct diffing *d, struct error *err)
{
	if (fd_write_all(d->to, buf_bytes(&d->out), d->out.len, err) < 0)
		return -1;
	buf_consume(&d->out, d->out.len);
	return 0;
}

/* Writes a path in quotes, so that each byte of it is taken for a part of the path. */
static int put_quoted(struct diffing *d, const char *path, struct error *err)
{
	if (buf_append(&d->out, "\"", 1, err) < 0)
		return -1;
	for (const char *at = path; *at; at++)
		if (*at == '"' || *at == '\\' || *at < ' ' || *at == 0x7f
			    ? buf_printf(&d->out, err, "\\%03o", (unsigned)(unsigned char)*at) < 0
			    : buf_append(&d->out, at, 1, err) < 0)
			return -1;
	return buf_append(&d->out, "\"\n", 2, err);
}

static int put_head(struct diffing *d, const char *mode, const char *path, uint64_t size,
		    struct error *err)
{
	if (buf_printf(&d->out, err, "M %s inline ", mode) < 0 || put_quoted(d, path, err) < 0)
		return -1;
	return buf_printf(&d->out, err, "data %" PRIu64 "\n", size);
}

/* Sends a file. Its contents are under the path `from` in `dirs`. */
static int put_file(struct diffing *d, struct review_dirs *dirs, const char *from, const char *path,
		    mode_t mode, struct error *err)
{
	enum review_bar bar = REVIEW_BAR_NONE;
	autoclose int fd = review_dirs_read(dirs, from, &bar);
	struct stat st;
	uint64_t at = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, ERR_IO,
				 "the contents of %.300s are missing: list the changes again",
				 from);
	if (put_head(d, mode & S_IXUSR ? "100755" : "100644", path, (uint64_t)st.st_size, err) <
		    0 ||
	    flush(d, err) < 0)
		return -1;
	while (at < (uint64_t)st.st_size) {
		const uint64_t left = (uint64_t)st.st_size - at;
		ssize_t n = pread(fd, d->part, left < PART ? (size_t)left : PART, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_errno(err, n < 0 ? errno : EIO, "%.300s", from);
		if (fd_write_all(d->to, d->part, (size_t)n, err) < 0)
			return -1;
		at += (uint64_t)n;
	}
	return buf_append(&d->out, "\n", 1, err);
}

/* Sends a link. `target` NULL: it is that of the link under the path `from` in `dirs`. */
static int put_link(struct diffing *d, struct review_dirs *dirs, const char *from, const char *path,
		    const char *target, struct error *err)
{
	char text[PATH_MAX];
	const char *name = NULL;
	ssize_t len = -1;
	int dir = -1;

	if (target)
		len = (ssize_t)strlen(target);
	else if (review_dirs_open(dirs, from, &dir, &name) == REVIEW_BAR_NONE)
		len = readlinkat(dir, name, text, sizeof(text));
	if (len < 0 || (!target && (size_t)len == sizeof(text)))
		return error_set(err, ERR_IO, "the link %.300s is missing: list the changes again",
				 from);
	if (put_head(d, "120000", path, (uint64_t)len, err) < 0 ||
	    buf_append(&d->out, target ? target : text, (size_t)len, err) < 0)
		return -1;
	return buf_append(&d->out, "\n", 1, err);
}

static const char *old_path(const struct review_change *change)
{
	return change->kind == REVIEW_RENAMED ? change->from : change->path;
}

static bool is_file(const struct review_look *look)
{
	return look->type == 'f' || look->type == 'l';
}

/* Returns the path of the image that has the contents of the new file. */
static const char *lower_path(const struct review_change *change)
{
	return change->from ? change->from : change->path;
}

static int put_old(struct diffing *d, const struct review_change *change, struct error *err)
{
	const char *path = old_path(change);

	if (change->old.type == 'f')
		return put_file(d, &d->old, path, path, change->old.mode, err);
	return change->old.type == 'l' ? put_link(d, &d->old, path, path, NULL, err) : 0;
}

static int put_new(struct diffing *d, const struct review_change *change, struct error *err)
{
	const bool upper = change->source == REVIEW_UPPER;
	struct review_dirs *dirs = upper ? &d->tree : &d->old;
	const char *from = upper ? change->path : lower_path(change);

	if (change->new.type == 'f')
		return put_file(d, dirs, from, change->path, change->new.mode, err);
	return change->new.type == 'l' ? put_link(d, dirs, from, change->path, change->target, err)
				       : 0;
}

/* Sends a commit with the files of all chosen changes. */
static int put_commit(struct diffing *d, const char *ref,
		      int (*put)(struct diffing *d, const struct review_change *change,
				 struct error *err),
		      struct error *err)
{
	const struct review_changes *changes = d->in->changes;

	if (buf_printf(&d->out, err, "commit %s\ncommitter microagent <> 0 +0000\ndata 0\n", ref) <
	    0)
		return -1;
	for (size_t i = 0; i < changes->count; i++) {
		if (d->chosen[i] && put(d, &changes->changes[i], err) < 0)
			return -1;
		if (d->out.len > PART && flush(d, err) < 0)
			return -1;
	}
	return flush(d, err);
}

static int import(struct diffing *d, struct error *err)
{
	const char *const argv[] = {d->git, "fast-import", "--quiet", NULL};
	struct git git = {.proc = PROC_NONE, .said = -1};
	struct error why = {0};
	int ends[2], status;

	/* A socket: a write to git does not raise SIGPIPE if git has failed. */
	if (fd_socketpair(ends, err) < 0)
		return -1;
	if (start_git(d, argv, ends[1], -1, &git, err) < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	close(ends[1]);
	d->to = ends[0];
	status = put_commit(d, OLD_REF, put_old, &why);
	if (status == 0)
		status = put_commit(d, NEW_REF, put_new, &why);
	/* Without the word "done" a stream that broke off would be taken for a whole one; this one is
	 * not used then. */
	close(ends[0]);
	if (end_git(&git, "fast-import", err) < 0)
		return -1;
	return status < 0 ? error_copy(err, &why) : 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* Chooses the changes that are written. Returns their number, or -1. */
static ssize_t choose(struct diffing *d, struct error *err)
{
	auto_review_selection struct review_selection selection = {0};
	const struct review_changes *changes = d->in->changes;
	ssize_t count = 0;

	if (review_selection_read(d->in->paths, d->in->path_count, &selection, err) < 0)
		return -1;
	for (size_t i = 0; i < changes->count; i++) {
		const struct review_change *change = &changes->changes[i];

		d->chosen[i] = review_selection_find(&selection, change) != REVIEW_NOT_NAMED &&
			       !change->left_out && !change->in_git &&
			       (is_file(&change->old) || is_file(&change->new));
		count += d->chosen[i];
	}
	return review_selection_check(&selection, err) < 0 ? -1 : count;
}

/* Takes the old files out of the image. */
static int fetch_old(struct diffing *d, struct error *err)
{
	const struct review_changes *changes = d->in->changes;
	autofree const char **paths = calloc(2 * changes->count + 1, sizeof(*paths));
	size_t count = 0;

	if (!paths)
		return error_errno(err, ENOMEM, "changes");
	for (size_t i = 0; i < changes->count; i++) {
		const struct review_change *change = &changes->changes[i];

		if (!d->chosen[i])
			continue;
		if (is_file(&change->old))
			paths[count++] = old_path(change);
		if (change->source == REVIEW_LOWER && is_file(&change->new))
			paths[count++] = lower_path(change);
	}
	autoclose int dir = path_open_dir_at(d->in->image.scratch, OLD_DIR, true, 0700, err);
	if (dir < 0 || review_extract(&d->in->image, dir, paths, count, err) < 0)
		return -1;
	return review_dirs_begin(&d->old, dir, NULL, err);
}

static int write_patch(struct diffing *d, struct error *err)
{
	const char *const init[] = {d->git,	   "init",     "--quiet", "--bare",
				    "--template=", REPOSITORY, NULL};
	const char *const diff[] = {d->git,
				    "--no-pager",
				    "diff",
				    "--no-ext-diff",
				    "--no-textconv",
				    "--binary",
				    "-M",
				    d->in->colour ? "--color=always" : "--color=never",
				    OLD_REF,
				    NEW_REF,
				    "--",
				    NULL};
	ssize_t count = choose(d, err);

	if (count <= 0)
		return (int)count;
	if (make_environment(d, err) < 0 || fetch_old(d, err) < 0 ||
	    review_dirs_begin(&d->tree, d->in->tree, NULL, err) < 0 ||
	    run_git(d, init, -1, err) < 0 || import(d, err) < 0)
		return -1;
	return run_git(d, diff, d->in->out, err);
}

int review_diff(const struct review_diff *inputs, struct error *err)
{
	struct diffing *d = calloc(1, sizeof(*d));
	int status = -1;

	if (!d)
		return error_errno(err, ENOMEM, "changes");
	d->in = inputs;
	d->chosen = calloc(inputs->changes->count + 1, sizeof(*d->chosen));
	d->git = program_in_path("git");
	if (!d->chosen)
		error_errno(err, ENOMEM, "changes");
	else if (!d->git)
		error_set(
			err, ERR_NOT_FOUND,
			"git is not on this host, and only git writes patches: install it, or list the changes without a patch");
	else
		status = write_patch(d, err);
	review_dirs_end(&d->old);
	review_dirs_end(&d->tree);
	buf_free(&d->out);
	for (size_t i = 0; i < ARRAY_SIZE(d->env); i++)
		free(d->env[i]);
	free(d->git);
	free(d->chosen);
	free(d);
	return status;
}
