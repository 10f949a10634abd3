/* SPDX-License-Identifier: MIT */
/*
 * The order of the steps. In each phase the paths come in their order, or in the reverse one, so that
 * each directory is opened once (dirs.h).
 *
 *   1. modes    of directories that become writable for this user
 *   2. dirs     are made, so that all other files have their directories
 *   3. renames  of files: before anything is written over their old paths, or removed
 *   4. removals below a directory that becomes a file
 *   5. files    and links are made and replaced, and get their modes
 *   6. removals of all other files; directories behind what is in them
 *   7. modes    of all other directories, behind what is made in them
 */
#include "store/review/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "store/review/host.h"
#include "store/review/memory.h"
#include "store/review/repository.h"
#include "store/review/select.h"

#define COPY_PART ((size_t)1 << 17)
#define LOWER_DIR "lower"

enum choice {
	NOT_CHOSEN,
	CHOSEN,
	NEEDED, /* a new directory that a chosen file is in: is made, and nothing else */
	LEFT_OUT,
	UNNAMED,
};

enum outcome { PENDING, APPLIED, ALREADY, CONFLICT };

/* What happens to a change. */
struct plan {
	enum choice choice;
	enum outcome outcome;
	const char *why;
	bool nameless;	 /* no path names the change, or a directory above it */
	size_t replaced; /* the position of the change by which a directory above the removed or
			  * old path becomes a file; REVIEW_NONE: none */
};

struct applying {
	const struct review_apply *in;
	const struct review_change *changes;
	size_t count;
	struct plan *plans; /* one for each change */
	struct review_host_dirs dirs;
	struct review_memory *memory;
	uint8_t *part; /* COPY_PART bytes */
	int lower;     /* a directory with files of the image; -1: the host's files are taken */
	bool stopped;  /* a step has failed so that no later one can succeed */
	size_t failed; /* the position of that change */
	struct error failure;
	struct error *err; /* an error of this process, not of a change */
};

/* --- outcomes -------------------------------------------------------------------------------- */

static int end(struct applying *a, size_t i, enum outcome outcome, const char *why)
{
	if (a->plans[i].outcome == PENDING) {
		a->plans[i].outcome = outcome;
		a->plans[i].why = why;
	}
	return outcome == CONFLICT ? -1 : 0;
}

static int conflict(struct applying *a, size_t i, const char *why)
{
	return end(a, i, CONFLICT, why ? why : "the host's file has changed");
}

/* Ends a change whose system call has failed. If no later step can succeed, stops. Returns -1. */
static int failed(struct applying *a, size_t i, int errnum)
{
	static const int ends_all[] = {ENOSPC, EDQUOT, EROFS, EIO, ENOMEM, EMFILE, ENFILE};

	for (size_t k = 0; k < ARRAY_SIZE(ends_all); k++)
		if (errnum == ends_all[k]) {
			a->stopped = true;
			a->failed = i;
			return error_errno(&a->failure, errnum, "%.300s", a->changes[i].path);
		}
	if (errnum == EEXIST || errnum == ENOTEMPTY)
		return conflict(
			a, i,
			a->changes[i].new.type
				? "the host has another file there"
				: "the host's directory has files that are not in the image");
	if (errnum == ENOENT)
		return conflict(a, i, "the host's file, or a directory above it, is gone");
	return conflict(a, i, review_keep(a->memory, strerror(errnum), NULL, NULL, NULL));
}

static int barred(struct applying *a, size_t i, enum review_bar bar)
{
	return conflict(a, i, review_bar_text(bar));
}

static void step(struct applying *a, size_t i)
{
	if (a->in->step)
		a->in->step(a->in->data, a->changes[i].path);
}

/* Looks at the host's file. Returns true if the change is to be applied; otherwise the change has
 * ended. */
static bool is_due(struct applying *a, size_t i)
{
	const char *why = NULL;

	switch (review_host_state(&a->dirs, &a->changes[i], false, &why)) {
	case REVIEW_HOST_SAME:
		return true;
	case REVIEW_HOST_DONE:
		(void)end(a, i, ALREADY, NULL);
		return false;
	default:
		(void)conflict(a, i, why);
		return false;
	}
}

static bool is_open(const struct applying *a, size_t i)
{
	return !a->stopped && a->plans[i].outcome == PENDING &&
	       (a->plans[i].choice == CHOSEN || a->plans[i].choice == NEEDED);
}

/* Begins a phase: what the phases before have made counts as the host's. */
static int begin_phase(struct applying *a)
{
	review_host_end(&a->dirs);
	return review_host_begin(&a->dirs, a->in->host, a->in->list, a->err);
}

/* --- the choice ------------------------------------------------------------------------------ */

static enum choice choose(const struct review_change *change, enum review_named named)
{
	if (named == REVIEW_NOT_NAMED)
		return NOT_CHOSEN;
	if (change->left_out)
		return LEFT_OUT;
	if (change->in_git)
		return named == REVIEW_NAMED_EXACTLY ? CHOSEN : UNNAMED;
	return change->by && named == REVIEW_NAMED_ALL ? UNNAMED : CHOSEN;
}

/* Calls use() for each change of a directory above `path`, a path of the change at `i`. */
static int each_above(struct applying *a, size_t i, const char *path,
		      void (*use)(struct applying *a, size_t i, size_t above))
{
	autofree char *above = strdup(path);

	if (!above)
		return error_errno(a->err, ENOMEM, "changes");
	for (char *slash; (slash = strrchr(above, '/'));) {
		size_t at;

		*slash = '\0';
		at = review_changes_find(a->in->changes, above);
		if (at != REVIEW_NONE)
			use(a, i, at);
	}
	return 0;
}

static void need(struct applying *a, size_t i, size_t above)
{
	const struct review_change *change = &a->changes[above];

	(void)i;
	if (change->new.type == 'd' && a->plans[above].choice != CHOSEN &&
	    (change->kind == REVIEW_ADDED || change->kind == REVIEW_RENAMED))
		a->plans[above].choice = NEEDED;
}

static void note_replaced(struct applying *a, size_t i, size_t above)
{
	if (a->changes[above].kind == REVIEW_TYPE && a->changes[above].old.type == 'd')
		a->plans[i].replaced = above;
}

/* Leaves a file out that nobody named, if its new directory is an autorun file: the directory is not
 * made because of the file. */
static void withhold(struct applying *a, size_t i, size_t above)
{
	const struct review_change *change = &a->changes[above];

	if (a->plans[above].choice == UNNAMED && change->new.type == 'd' &&
	    change->kind != REVIEW_MODE)
		a->plans[i].choice = UNNAMED;
}

static unsigned find_parts(void *data, const char *path, size_t len)
{
	return review_parts_on_host(data, path, len);
}

/* Leaves the changes out that nobody named, and that are autorun files because of what the host has
 * now. */
static int choose_by_host(struct applying *a)
{
	auto_review_dirs struct review_dirs host = {0};

	if (review_dirs_begin(&host, a->in->host, NULL, a->err) < 0)
		return -1;
	for (size_t i = 0; i < a->count; i++) {
		const struct review_change *change = &a->changes[i];
		const bool is_dir = (change->new.type ? change->new.type : change->old.type) == 'd';

		if (a->plans[i].choice != CHOSEN || !a->plans[i].nameless)
			continue;
		if (review_repository_by(change->path, is_dir, find_parts, &host) ||
		    (change->kind == REVIEW_RENAMED &&
		     review_repository_by(change->from, is_dir, find_parts, &host)))
			a->plans[i].choice = UNNAMED;
	}
	return 0;
}

static int choose_all(struct applying *a)
{
	auto_review_selection struct review_selection selection = {0};

	if (review_selection_read(a->in->paths, a->in->path_count, &selection, a->err) < 0)
		return -1;
	for (size_t i = 0; i < a->count; i++) {
		enum review_named named = review_selection_find(&selection, &a->changes[i]);

		a->plans[i].choice = choose(&a->changes[i], named);
		a->plans[i].nameless = named == REVIEW_NAMED_ALL;
		a->plans[i].replaced = REVIEW_NONE;
	}
	if (review_selection_check(&selection, a->err) < 0 || choose_by_host(a) < 0)
		return -1;
	for (size_t i = 0; i < a->count; i++) {
		const struct review_change *change = &a->changes[i];

		if (a->plans[i].choice == CHOSEN && a->plans[i].nameless &&
		    change->new.type &&each_above(a, i, change->path, withhold) < 0)
			return -1;
		if (a->plans[i].choice != CHOSEN)
			continue;
		if ((change->new.type &&each_above(a, i, change->path, need) < 0) ||
		    (change->kind == REVIEW_REMOVED &&
		     each_above(a, i, change->path, note_replaced) < 0) ||
		    (change->kind == REVIEW_RENAMED &&
		     each_above(a, i, change->from, note_replaced) < 0))
			return -1;
	}
	return 0;
}

/* Takes the contents of moved files out of the image, except of those that are only renamed. */
static int fetch_lower(struct applying *a)
{
	autofree const char **paths = calloc(a->count + 1, sizeof(*paths));
	size_t count = 0;

	if (!paths)
		return error_errno(a->err, ENOMEM, "changes");
	for (size_t i = 0; i < a->count; i++)
		if (a->plans[i].choice == CHOSEN && a->changes[i].source == REVIEW_LOWER &&
		    a->changes[i].new.type == 'f' && a->changes[i].kind != REVIEW_RENAMED)
			paths[count++] =
				a->changes[i].from ? a->changes[i].from : a->changes[i].path;
	if (count == 0 || a->in->image.fd < 0)
		return 0;
	a->lower = path_open_dir_at(a->in->image.scratch, LOWER_DIR, true, 0700, a->err);
	return a->lower < 0 ? -1 : review_extract(&a->in->image, a->lower, paths, count, a->err);
}

/* --- files ----------------------------------------------------------------------------------- */

/* A new file that has no final name yet. */
struct draft {
	int fd;
	char name[32]; /* a temporary name in its directory */
	bool named;    /* the file has that name */
};

/* The name depends on the change alone. So a run that repeats a killed one finds and removes what
 * was left behind. */
static void name_draft(const struct applying *a, size_t i, struct draft *draft)
{
	uint8_t digest[SHA256_BYTES];
	char text[SHA256_TEXT];
	struct sha256 sha;

	sha256_init(&sha);
	sha256_update(&sha, a->in->changes->digest, sizeof(a->in->changes->digest));
	sha256_update(&sha, a->changes[i].path, strlen(a->changes[i].path));
	sha256_final(&sha, digest);
	sha256_hex(digest, text);
	snprintf(draft->name, sizeof(draft->name), ".microagent-%.16s", text);
}

static int open_draft(struct applying *a, size_t i, int dir, struct draft *draft)
{
	name_draft(a, i, draft);
	draft->fd = file_open_nameless(dir, O_WRONLY);
	if (draft->fd >= 0)
		return 0;
	/* The file system has no files without a name. */
	step(a, i);
	(void)unlinkat(dir, draft->name, 0);
	draft->fd = openat(dir, draft->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			   0600);
	if (draft->fd < 0)
		return failed(a, i, errno);
	draft->named = true;
	return 0;
}

/* Gives the draft its temporary name. */
static int give_draft_name(struct applying *a, size_t i, int dir, struct draft *draft)
{
	step(a, i);
	if (file_give_name(draft->fd, dir, draft->name) < 0 &&
	    (errno != EEXIST || unlinkat(dir, draft->name, 0) < 0 ||
	     file_give_name(draft->fd, dir, draft->name) < 0))
		return failed(a, i, errno);
	draft->named = true;
	return 0;
}

static void drop_draft(int dir, struct draft *draft)
{
	if (draft->fd >= 0)
		close(draft->fd);
	if (draft->named)
		(void)unlinkat(dir, draft->name, 0);
}

/* Returns the number of bytes of a hole at the offset, at most COPY_PART; 0: there is none. */
static size_t hole_at(int fd, uint64_t at)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);

	if (data < 0 && errno == ENXIO)
		data = lseek(fd, 0, SEEK_END);
	if (data < 0 || (uint64_t)data <= at)
		return 0;
	return (uint64_t)data - at < COPY_PART ? (size_t)((uint64_t)data - at) : COPY_PART;
}

/* Copies the contents to the draft, and checks them against the change. Holes stay holes. */
static int fill_draft(struct applying *a, size_t i, int from, struct draft *draft)
{
	const struct review_look *look = &a->changes[i].new;
	uint8_t digest[SHA256_BYTES];
	struct error err = {0};
	struct sha256 sha;
	uint64_t at = 0;

	sha256_init(&sha);
	while (at <= look->size) {
		const size_t hole = hole_at(from, at);
		ssize_t n = (ssize_t)hole;

		/* What counts is what the draft gets: in a hole the file is not read. */
		if (hole > 0)
			memset(a->part, 0, hole);
		else
			n = pread(from, a->part, COPY_PART, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(a, i, errno);
		if (n == 0)
			break;
		sha256_update(&sha, a->part, (size_t)n);
		if (hole > 0 && lseek(draft->fd, (off_t)hole, SEEK_CUR) < 0)
			return failed(a, i, errno);
		if (hole == 0 && fd_write_all(draft->fd, a->part, (size_t)n, &err) < 0)
			return failed(a, i, err.errnum ? err.errnum : EIO);
		at += (uint64_t)n;
	}
	sha256_final(&sha, digest);
	if (at != look->size || memcmp(digest, look->digest, sizeof(digest)) != 0)
		return conflict(a, i, "its new contents are not those that were shown");
	/* for a hole at the end */
	if (ftruncate(draft->fd, (off_t)look->size) < 0)
		return failed(a, i, errno);
	/* Behind the data, since the mode may forbid writing. */
	if (fchmod(draft->fd, look->mode) < 0)
		return failed(a, i, errno);
	return 0;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	const struct timespec ca = file_changed(a), cb = file_changed(b);

	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       ca.tv_sec == cb.tv_sec && ca.tv_nsec == cb.tv_nsec;
}

/* Checks, immediately before a step, that the file is still the one of `seen`. */
static int look_again(struct applying *a, size_t i, int dir, const char *name,
		      const struct stat *seen)
{
	struct stat now;

	return fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) < 0 || !is_same_file(&now, seen)
		       ? conflict(a, i, "the host's file changed just now")
		       : 0;
}

/* Renames the temporary name over the file at the path, if it is still the one of `seen`. */
static int replace(struct applying *a, size_t i, int dir, const char *name, const char *temporary,
		   const struct stat *seen)
{
	step(a, i);
	if (look_again(a, i, dir, name, seen) < 0)
		return -1;
	if (renameat(dir, temporary, dir, name) < 0)
		return failed(a, i, errno);
	return 0;
}

static int note_made(struct applying *a, size_t i)
{
	return review_dirs_made(&a->dirs.paths, a->changes[i].path, a->err);
}

/* Makes the regular file of a change with the contents of `from`. `seen`: the file that it
 * replaces; NULL: none. */
static int make_file(struct applying *a, size_t i, int from, const struct stat *seen)
{
	struct draft draft = {.fd = -1};
	const char *name = NULL;
	enum review_bar bar;
	int dir = -1, status;

	bar = review_dirs_open(&a->dirs.paths, a->changes[i].path, &dir, &name);
	if (bar != REVIEW_BAR_NONE)
		return barred(a, i, bar);
	status = open_draft(a, i, dir, &draft);
	if (status == 0)
		status = fill_draft(a, i, from, &draft);
	/* On a network file system, which has no files without a name, only close() may report a
	 * full disk. */
	if (status == 0 && draft.named && close(steal_fd(&draft.fd)) < 0)
		status = failed(a, i, errno);
	if (status == 0 && seen) {
		if (!draft.named)
			status = give_draft_name(a, i, dir, &draft);
		if (status == 0)
			status = replace(a, i, dir, name, draft.name, seen);
		draft.named = draft.named && status < 0;
	} else if (status == 0) {
		step(a, i);
		if (draft.named ? file_rename_new(dir, draft.name, dir, name) < 0
				: file_give_name(draft.fd, dir, name) < 0)
			status = failed(a, i, errno);
		draft.named = draft.named && status < 0;
		if (status == 0 && note_made(a, i) < 0)
			status = -1;
	}
	drop_draft(dir, &draft);
	return status;
}

static int make_link(struct applying *a, size_t i, const struct stat *seen)
{
	const char *target = a->changes[i].target, *name = NULL;
	struct draft draft = {.fd = -1};
	enum review_bar bar;
	int dir = -1, status;

	/* Without the target nobody has checked whether the link leads out. */
	if (!target)
		return conflict(a, i, "the host's link has changed");
	bar = review_dirs_open(&a->dirs.paths, a->changes[i].path, &dir, &name);
	if (bar != REVIEW_BAR_NONE)
		return barred(a, i, bar);
	if (!seen) {
		step(a, i);
		return symlinkat(target, dir, name) < 0 ? failed(a, i, errno) : note_made(a, i);
	}
	name_draft(a, i, &draft);
	step(a, i);
	(void)unlinkat(dir, draft.name, 0);
	if (symlinkat(target, dir, draft.name) < 0)
		return failed(a, i, errno);
	status = replace(a, i, dir, name, draft.name, seen);
	draft.named = status < 0;
	drop_draft(dir, &draft);
	return status;
}

/* Opens the contents of a new file. */
static int open_contents(struct applying *a, size_t i)
{
	const struct review_change *change = &a->changes[i];
	auto_review_dirs struct review_dirs dirs = {0};
	enum review_bar bar = REVIEW_BAR_NONE;
	const bool upper = change->source == REVIEW_UPPER;
	const char *path = !upper && change->from ? change->from : change->path;
	int fd;

	if (!upper && a->lower < 0) {
		fd = review_dirs_read(&a->dirs.froms, path, &bar);
		return fd < 0 ? conflict(a, i, "the host's file that the guest moved there is gone")
			      : fd;
	}
	if (review_dirs_begin(&dirs, upper ? a->in->tree : a->lower, NULL, a->err) < 0)
		return -1;
	fd = review_dirs_read(&dirs, path, &bar);
	return fd < 0 ? conflict(a, i,
				 upper ? "the copy of the guest's files does not have it"
				       : "the image does not have it")
		      : fd;
}

/* Makes or replaces the file or the link of a change. */
static int make(struct applying *a, size_t i, const struct stat *seen)
{
	if (a->changes[i].new.type == 'l')
		return make_link(a, i, seen);
	autoclose int fd = open_contents(a, i);
	return fd < 0 ? -1 : make_file(a, i, fd, seen);
}

/* Changes the mode of a file. A file with several names may have names outside of the directory:
 * it is replaced, so that those keep their mode. */
static int change_mode(struct applying *a, size_t i, const struct stat *seen)
{
	enum review_bar bar = REVIEW_BAR_NONE;
	autoclose int fd = review_dirs_read(&a->dirs.paths, a->changes[i].path, &bar);
	struct stat st;

	if (fd < 0)
		return barred(a, i, bar);
	if (fstat(fd, &st) < 0 || !is_same_file(&st, seen))
		return conflict(a, i, "the host's file changed just now");
	if (st.st_nlink > 1)
		return make_file(a, i, fd, seen);
	step(a, i);
	return fchmod(fd, a->changes[i].new.mode) < 0 ? failed(a, i, errno) : 0;
}

static int apply_file(struct applying *a, size_t i)
{
	const struct review_change *change = &a->changes[i];
	const char *name = NULL;
	struct stat seen;
	enum review_bar bar;
	int dir = -1, status;

	/* First the stat, so that is_due() looks at this file or at a later one. */
	bar = review_dirs_stat(&a->dirs.paths, change->path, &seen);
	if (!is_due(a, i))
		return 0;
	if (bar != REVIEW_BAR_NONE && bar != REVIEW_BAR_MISSING)
		return barred(a, i, bar);
	if (bar == REVIEW_BAR_NONE && S_ISDIR(seen.st_mode)) {
		if (review_dirs_open(&a->dirs.paths, change->path, &dir, &name) != REVIEW_BAR_NONE)
			return barred(a, i, REVIEW_BAR_MISSING);
		step(a, i);
		if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
			return errno == ENOTEMPTY || errno == EEXIST
				       ? conflict(
						 a, i,
						 "the host's directory has files that are not removed")
				       : failed(a, i, errno);
		bar = REVIEW_BAR_MISSING;
	}
	if (change->kind == REVIEW_MODE && bar == REVIEW_BAR_NONE)
		status = change_mode(a, i, &seen);
	else
		status = make(a, i, bar == REVIEW_BAR_NONE ? &seen : NULL);
	return status < 0 ? -1 : end(a, i, APPLIED, NULL);
}

/* --- directories ----------------------------------------------------------------------------- */

/* Gives a directory that was just made its mode. By now the name may be that of a link, which is not
 * followed. */
static int correct_mode(struct applying *a, size_t i, int dir, const char *name, mode_t mode)
{
	struct stat st;

	step(a, i);
	autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || fstat(fd, &st) < 0 || fchmod(fd, mode | (st.st_mode & S_ISGID)) < 0
		       ? failed(a, i, errno)
		       : 0;
}

static int apply_dir(struct applying *a, size_t i)
{
	const struct review_change *change = &a->changes[i];
	const mode_t mode = change->new.mode | S_IRWXU;
	const char *name = NULL;
	enum review_bar bar;
	struct stat st;
	int dir = -1;

	bar = review_dirs_stat(&a->dirs.paths, change->path, &st);
	/* Of a directory that is only needed, its old path does not count. */
	if (a->plans[i].choice == CHOSEN && !is_due(a, i))
		return 0;
	if (bar == REVIEW_BAR_NONE && S_ISDIR(st.st_mode)) {
		bar = review_dirs_check_name(&a->dirs.paths, change->path);
		if (bar != REVIEW_BAR_NONE)
			return barred(a, i, bar);
		return a->plans[i].choice == NEEDED ? end(a, i, ALREADY, NULL) : 0;
	}
	if (bar == REVIEW_BAR_NONE && change->kind != REVIEW_TYPE)
		return conflict(a, i, "the host has another file there");
	if (bar != REVIEW_BAR_NONE && bar != REVIEW_BAR_MISSING)
		return barred(a, i, bar);
	const bool there = bar == REVIEW_BAR_NONE;
	bar = review_dirs_open(&a->dirs.paths, change->path, &dir, &name);
	if (bar != REVIEW_BAR_NONE)
		return barred(a, i, bar);
	if (there) {
		step(a, i);
		if (look_again(a, i, dir, name, &st) < 0)
			return -1;
		if (unlinkat(dir, name, 0) < 0)
			return failed(a, i, errno);
	}
	step(a, i);
	if (mkdirat(dir, name, mode) < 0)
		return failed(a, i, errno);
	if (note_made(a, i) < 0)
		return -1;
	/* The mode is as asked for, unless the umask of this process differs from that of the
	 * comparison. A set-group-ID bit that the host's directory hands on stays. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & 01777) != mode &&
	    correct_mode(a, i, dir, name, mode) < 0)
		return -1;
	/* A renamed directory ends when its old one is removed. */
	return change->kind == REVIEW_RENAMED && a->plans[i].choice == CHOSEN
		       ? 0
		       : end(a, i, APPLIED, NULL);
}

/* Changes the mode of a directory, but never its set-ID bits. */
static int set_dir_mode(struct applying *a, size_t i)
{
	const char *name = NULL;
	enum review_bar bar;
	struct stat st;
	int dir = -1;

	bar = review_dirs_open(&a->dirs.paths, a->changes[i].path, &dir, &name);
	if (bar != REVIEW_BAR_NONE)
		return barred(a, i, bar);
	autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return failed(a, i, errno);
	step(a, i);
	return fchmod(fd, a->changes[i].new.mode | (st.st_mode & 06000)) < 0 ? failed(a, i, errno)
									     : 0;
}

static int apply_dir_mode(struct applying *a, size_t i)
{
	if (!is_due(a, i))
		return 0;
	return set_dir_mode(a, i) < 0 ? -1 : end(a, i, APPLIED, NULL);
}

/* --- renamed files --------------------------------------------------------------------------- */

/* `seen`: the file whose contents have their new name. */
static int remove_old_name(struct applying *a, size_t i, const struct stat *seen)
{
	const char *name = NULL;
	int dir = -1;
	enum review_bar bar = review_dirs_open(&a->dirs.froms, a->changes[i].from, &dir, &name);

	if (bar != REVIEW_BAR_NONE)
		return barred(a, i, bar);
	step(a, i);
	if (look_again(a, i, dir, name, seen) < 0)
		return -1;
	return unlinkat(dir, name, 0) < 0 ? failed(a, i, errno) : 0;
}

static int apply_rename(struct applying *a, size_t i)
{
	const struct review_change *change = &a->changes[i];
	const char *name = NULL, *old_name = NULL;
	struct stat old, new;
	enum review_bar bar, old_bar;
	int dir = -1, old_dir = -1;

	old_bar = review_dirs_stat(&a->dirs.froms, change->from, &old);
	if (!is_due(a, i))
		return 0;
	bar = review_dirs_stat(&a->dirs.paths, change->path, &new);
	const bool there = bar == REVIEW_BAR_NONE;
	if (!there && bar != REVIEW_BAR_MISSING)
		return barred(a, i, bar);
	if (old_bar != REVIEW_BAR_NONE)
		return barred(a, i, old_bar);
	if (change->new.type == 'l' && !change->target && change->source == REVIEW_LOWER)
		return conflict(a, i, "the host's link has changed");
	/* A rename cannot change the mode in the same step. So such a file is copied. */
	if (!there && change->new.mode == change->old.mode && !(old.st_mode & 06000)) {
		if (review_dirs_open(&a->dirs.froms, change->from, &old_dir, &old_name) !=
		    REVIEW_BAR_NONE)
			return barred(a, i, REVIEW_BAR_MISSING);
		bar = review_dirs_open(&a->dirs.paths, change->path, &dir, &name);
		if (bar != REVIEW_BAR_NONE)
			return barred(a, i, bar);
		step(a, i);
		if (look_again(a, i, old_dir, old_name, &old) < 0)
			return -1;
		if (file_rename_new(old_dir, old_name, dir, name) == 0)
			return note_made(a, i) < 0 ? -1 : end(a, i, APPLIED, NULL);
		if (errno != EINVAL && errno != ENOTSUP && errno != ENOSYS)
			return failed(a, i, errno);
	}
	if (!there) {
		enum review_bar unread = REVIEW_BAR_NONE;
		int status;

		if (change->new.type == 'l') {
			status = make_link(a, i, NULL);
		} else {
			autoclose int fd = review_dirs_read(&a->dirs.froms, change->from, &unread);
			if (fd < 0)
				return barred(a, i, unread);
			status = make_file(a, i, fd, NULL);
		}
		if (status < 0)
			return -1;
	}
	return remove_old_name(a, i, &old) < 0 ? -1 : end(a, i, APPLIED, NULL);
}

/* --- removals -------------------------------------------------------------------------------- */

/* A path to remove: that of a removed file, or the old path of a renamed directory. */
struct removal {
	const char *path;
	size_t change;
};

static int by_removal_path(const void *a, const void *b)
{
	return strcmp(((const struct removal *)a)->path, ((const struct removal *)b)->path);
}

/* Returns whether the directory of a removed file has become a file already. */
static bool was_replaced(struct applying *a, size_t above, size_t *last, bool *last_was)
{
	const char *why = NULL;

	if (*last != above) {
		*last = above;
		*last_was = review_host_is_replaced(
			&a->changes[above],
			review_host_state(&a->dirs, &a->changes[above], false, &why));
	}
	return *last_was;
}

static int apply_removal(struct applying *a, const struct removal *removal)
{
	const size_t i = removal->change;
	const struct review_change *change = &a->changes[i];
	const bool renamed = change->kind == REVIEW_RENAMED;
	struct review_dirs *dirs = renamed ? &a->dirs.froms : &a->dirs.paths;
	const char *name = NULL;
	struct stat seen;
	enum review_bar bar = review_dirs_stat(dirs, removal->path, &seen);
	const bool there = bar == REVIEW_BAR_NONE;
	int dir = -1;

	if (!renamed && !is_due(a, i))
		return 0;
	bar = review_dirs_open(dirs, removal->path, &dir, &name);
	if (bar == REVIEW_BAR_MISSING || (renamed && bar == REVIEW_BAR_NO_DIR))
		return end(a, i, APPLIED, NULL);
	if (bar != REVIEW_BAR_NONE)
		return barred(a, i, bar);
	step(a, i);
	/* A directory is only removed if it is empty. */
	if (change->old.type != 'd' && there && look_again(a, i, dir, name, &seen) < 0)
		return -1;
	if (unlinkat(dir, name, change->old.type == 'd' ? AT_REMOVEDIR : 0) == 0 ||
	    (renamed && (errno == ENOENT || errno == ENOTDIR)))
		return end(a, i, APPLIED, NULL);
	/* The old directory stays if files in it were not named, or were made on the host. */
	if (renamed && (errno == ENOTEMPTY || errno == EEXIST))
		return end(a, i, APPLIED, NULL);
	if (errno == ENOTEMPTY || errno == EEXIST)
		return conflict(a, i, "the host's directory has files that are not removed");
	return failed(a, i, errno);
}

/* Removes files. `early`: only those below a directory that becomes a file. */
static int remove_all(struct applying *a, const struct removal *removals, size_t count, bool early)
{
	size_t last = REVIEW_NONE;
	bool last_was = false;

	if (begin_phase(a) < 0)
		return -1;
	for (size_t k = count; k-- > 0 && !a->stopped;) {
		const size_t i = removals[k].change, above = a->plans[i].replaced;

		if (!is_open(a, i) || (early && above == REVIEW_NONE))
			continue;
		if (above != REVIEW_NONE && was_replaced(a, above, &last, &last_was))
			(void)end(a, i, ALREADY, NULL);
		else if (apply_removal(a, &removals[k]) < 0 && a->err->code)
			return -1;
	}
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static bool is_new_dir(const struct review_change *change)
{
	return change->new.type == 'd' && change->kind != REVIEW_MODE;
}
static bool opens_dir(const struct review_change *change)
{
	return change->new.type == 'd' && change->kind == REVIEW_MODE &&
	       (change->new.mode &S_IRWXU) == S_IRWXU;
}
static bool is_dir_mode(const struct review_change *change)
{
	return change->new.type == 'd' && change->kind == REVIEW_MODE;
}
static bool is_renamed_file(const struct review_change *change)
{
	return change->kind == REVIEW_RENAMED && change->new.type != 'd';
}
static bool is_file(const struct review_change *change)
{
	return change->new.type == 'f' || change->new.type == 'l';
}

/* Applies the changes for which is() returns true. */
static int phase(struct applying *a, bool (*is)(const struct review_change *change),
		 int (*apply)(struct applying *a, size_t i), bool backwards)
{
	if (begin_phase(a) < 0)
		return -1;
	for (size_t k = 0; k < a->count && !a->stopped; k++) {
		const size_t i = backwards ? a->count - 1 - k : k;

		if (is_open(a, i) && is(&a->changes[i]) && apply(a, i) < 0 && a->err->code)
			return -1;
	}
	return 0;
}

/* Gives the new directories that this user may not write to their modes. */
static int close_dirs(struct applying *a)
{
	if (begin_phase(a) < 0)
		return -1;
	for (size_t i = a->count; i-- > 0 && !a->stopped;) {
		const struct review_change *change = &a->changes[i];

		if (is_new_dir(change) && (change->new.mode &S_IRWXU) != S_IRWXU &&
		    (a->plans[i].outcome == APPLIED || a->plans[i].outcome == ALREADY)) {
			struct stat st;

			/* A directory of the host that was there before keeps its mode. */
			if (review_dirs_stat(&a->dirs.paths, change->path, &st) ==
				    REVIEW_BAR_NONE &&
			    S_ISDIR(st.st_mode) &&
			    (st.st_mode & 01777) == (change->new.mode | S_IRWXU))
				(void)set_dir_mode(a, i);
		}
	}
	return 0;
}

static int apply_all(struct applying *a)
{
	autofree struct removal *removals = calloc(a->count + 1, sizeof(*removals));
	size_t count = 0;

	if (!removals)
		return error_errno(a->err, ENOMEM, "changes");
	for (size_t i = 0; i < a->count; i++) {
		const struct review_change *change = &a->changes[i];

		if (a->plans[i].choice != CHOSEN)
			continue;
		if (change->kind == REVIEW_REMOVED)
			removals[count++] = (struct removal){change->path, i};
		else if (change->kind == REVIEW_RENAMED && change->new.type == 'd')
			removals[count++] = (struct removal){change->from, i};
	}
	if (count > 0)
		qsort(removals, count, sizeof(*removals), by_removal_path);
	if (phase(a, opens_dir, apply_dir_mode, false) < 0 ||
	    phase(a, is_new_dir, apply_dir, false) < 0 ||
	    phase(a, is_renamed_file, apply_rename, false) < 0 ||
	    remove_all(a, removals, count, true) < 0 || phase(a, is_file, apply_file, false) < 0 ||
	    remove_all(a, removals, count, false) < 0 ||
	    phase(a, is_dir_mode, apply_dir_mode, true) < 0 || close_dirs(a) < 0)
		return -1;
	return 0;
}

static int put_one(json_t *list, const struct review_change *change, const char *key,
		   const char *value, struct error *err)
{
	json_t *object = json_object();

	if (json_array_append_new(list, object) < 0)
		return error_errno(err, ENOMEM, "changes");
	if (review_put_path(object, "path", change->path, err) < 0)
		return -1;
	/* The text of strerror() may be in another character set. */
	return json_put(object, key, json_string_lossy(value, strlen(value)), err);
}

static json_t *report(const struct applying *a, struct error *err)
{
	json_auto_t *applied = json_array(), *conflicts = json_array(), *left_out = json_array();
	json_auto_t *unnamed = json_array(), *result = NULL;
	json_int_t already = 0;

	for (size_t i = 0; i < a->count; i++) {
		const struct review_change *change = &a->changes[i];
		const struct plan *plan = &a->plans[i];
		int status = 0;

		if (plan->outcome == APPLIED)
			status = put_one(applied, change, "kind", review_kind_name(change->kind),
					 err);
		else if (plan->outcome == CONFLICT)
			status = put_one(conflicts, change, "why", plan->why, err);
		else if (plan->outcome == ALREADY)
			already += plan->choice == CHOSEN;
		else if (plan->choice == LEFT_OUT)
			status = put_one(left_out, change, "why", change->left_out, err);
		else if (plan->choice == UNNAMED)
			status = put_one(unnamed, change, "by",
					 change->by ? change->by : "git uses it", err);
		if (status < 0)
			return NULL;
	}
	result = json_pack("{s:O, s:O, s:O, s:O, s:I}", "applied", applied, "conflicts", conflicts,
			   "leftOut", left_out, "unnamed", unnamed, "already", already);
	if (!result) {
		error_errno(err, ENOMEM, "changes");
		return NULL;
	}
	if (a->stopped) {
		json_t *object = json_object();

		if (json_put(result, "failed", object, err) < 0 ||
		    json_put_error(object, &a->failure, err) < 0 ||
		    (a->failed != REVIEW_NONE &&
		     review_put_path(object, "path", a->changes[a->failed].path, err) < 0))
			return NULL;
	}
	return json_incref(result);
}

json_t *review_apply(const struct review_apply *inputs, struct error *err)
{
	struct error why = {0};
	struct applying a = {.in = inputs,
			     .changes = inputs->changes->changes,
			     .count = inputs->changes->count,
			     .lower = -1,
			     .err = &why};
	json_t *result = NULL;

	a.plans = calloc(a.count + 1, sizeof(*a.plans));
	a.part = malloc(COPY_PART);
	a.memory = review_memory_new(&why);
	if (!a.plans || !a.part || !a.memory)
		error_errno(&why, ENOMEM, "changes");
	else if (choose_all(&a) == 0 && fetch_lower(&a) == 0) {
		if (apply_all(&a) < 0) {
			a.stopped = true;
			a.failed = REVIEW_NONE;
			a.failure = why;
			why = (struct error){0};
		}
		result = report(&a, &why);
	}
	review_host_end(&a.dirs);
	review_memory_free(a.memory);
	free(a.part);
	free(a.plans);
	if (a.lower >= 0)
		close(a.lower);
	if (!result)
		error_copy(err, &why);
	return result;
}
