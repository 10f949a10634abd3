/* SPDX-License-Identifier: MIT */
#include "store/review/host.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/platform/file.h"

int review_host_begin(struct review_host_dirs *dirs, int host, const struct review_list *list,
		      struct error *err)
{
	if (review_dirs_begin(&dirs->paths, host, list, err) < 0)
		return -1;
	return review_dirs_begin(&dirs->froms, host, list, err);
}

void review_host_end(struct review_host_dirs *dirs)
{
	review_dirs_end(&dirs->paths);
	review_dirs_end(&dirs->froms);
}

static int64_t nanoseconds(struct timespec time)
{
	return (int64_t)time.tv_sec * (int64_t)NS_PER_S + time.tv_nsec;
}

/* Returns whether the file has not changed since the list was made, as far as lstat() tells. */
static bool is_untouched(const struct stat *st, const struct review_entry *entry)
{
	return entry->ctime != 0 && (uint64_t)st->st_dev == entry->dev &&
	       (uint64_t)st->st_ino == entry->ino && (uint64_t)st->st_size == entry->size &&
	       nanoseconds(file_modified(st)) == entry->mtime &&
	       nanoseconds(file_changed(st)) == entry->ctime;
}

static bool has_contents(struct review_dirs *dirs, const char *path, const struct stat *st,
			 const struct review_look *look, enum review_bar *bar)
{
	uint8_t digest[SHA256_BYTES];
	char target[PATH_MAX];
	const char *name = NULL;
	uint64_t size = 0;
	int dir = -1;

	if (look->type == 'l') {
		*bar = review_dirs_open(dirs, path, &dir, &name);
		ssize_t len = *bar == REVIEW_BAR_NONE
				      ? readlinkat(dir, name, target, sizeof(target))
				      : -1;
		if (len < 0 || (size_t)len == sizeof(target))
			return false;
		review_digest_bytes(target, (size_t)len, digest);
		return memcmp(digest, look->digest, sizeof(digest)) == 0;
	}
	if ((uint64_t)st->st_size != look->size)
		return false;
	autoclose int fd = review_dirs_read(dirs, path, bar);
	return fd >= 0 && review_digest_file(fd, digest, &size, NULL) == 0 &&
	       memcmp(digest, look->digest, sizeof(digest)) == 0;
}

bool review_host_fits(struct review_dirs *dirs, const char *path, const struct stat *st,
		      const struct review_look *look, const struct review_entry *entry,
		      enum review_bar *bar)
{
	const char type = S_ISREG(st->st_mode)	 ? 'f'
			  : S_ISDIR(st->st_mode) ? 'd'
			  : S_ISLNK(st->st_mode) ? 'l'
						 : 's';

	*bar = REVIEW_BAR_NONE;
	if (type != look->type)
		return false;
	/* The times of a directory change with its files, so they say nothing. */
	if (type != 'd' && entry && is_untouched(st, entry))
		return true;
	*bar = review_dirs_check_name(dirs, path);
	if (*bar != REVIEW_BAR_NONE)
		return false;
	if (type == 'd')
		return true;
	if (type == 'f' && (st->st_mode & 0777) != look->mode)
		return false;
	return has_contents(dirs, path, st, look, bar);
}

/* What is on the host at a path. */
struct seen {
	enum review_bar bar; /* REVIEW_BAR_MISSING: nothing */
	struct stat st;
};

static bool is_there(const struct seen *seen)
{
	return seen->bar == REVIEW_BAR_NONE;
}

static bool fits(struct review_dirs *dirs, const char *path, struct seen *seen,
		 const struct review_look *look, const struct review_entry *entry)
{
	enum review_bar bar = REVIEW_BAR_NONE;

	if (!look->type)
		return seen->bar == REVIEW_BAR_MISSING;
	if (!is_there(seen))
		return false;
	if (review_host_fits(dirs, path, &seen->st, look, entry, &bar))
		return true;
	if (bar != REVIEW_BAR_NONE && bar != REVIEW_BAR_MISSING)
		seen->bar = bar;
	return false;
}

static enum review_host conflict(const struct seen *seen, const struct review_look *old,
				 const char **why)
{
	if (seen->bar == REVIEW_BAR_MISSING)
		*why = "the host's file is gone";
	else if (seen->bar != REVIEW_BAR_NONE)
		*why = review_bar_text(seen->bar);
	else if (old->type)
		*why = "the host's file has changed since the machine took the directory";
	else
		*why = "the host has another file there";
	return REVIEW_HOST_CONFLICT;
}

static enum review_host state_of_renamed(struct review_host_dirs *dirs,
					 const struct review_change *change, struct seen *at,
					 const struct review_entry *entry, const char **why)
{
	static const struct review_look nothing;
	struct seen from = {0};

	from.bar = review_dirs_stat(&dirs->froms, change->from, &from.st);
	const bool there = fits(&dirs->paths, change->path, at, &change->new, NULL);
	const bool absent = at->bar == REVIEW_BAR_MISSING;

	/* The old directory may have been replaced by a file since then. */
	if ((from.bar == REVIEW_BAR_MISSING || from.bar == REVIEW_BAR_NO_DIR) && there)
		return REVIEW_HOST_DONE;
	if (!there && !absent)
		return conflict(at, &nothing, why);
	/* A directory is only made under its new name, and removed when it is empty. */
	if (change->new.type == 'd' && from.bar == REVIEW_BAR_MISSING)
		return REVIEW_HOST_SAME;
	if (fits(&dirs->froms, change->from, &from, &change->old, entry))
		return REVIEW_HOST_SAME;
	return conflict(&from, &change->old, why);
}

bool review_host_is_replaced(const struct review_change *change, enum review_host state)
{
	return change->kind == REVIEW_TYPE &&
	       ((change->new.type == 'd' && state == REVIEW_HOST_SAME) ||
		(change->old.type == 'd' && state == REVIEW_HOST_DONE));
}

enum review_host review_host_state(struct review_host_dirs *dirs,
				   const struct review_change *change, bool replaced,
				   const char **why)
{
	const struct review_list *list = dirs->paths.list;
	const struct review_entry *entry =
		change->entry == REVIEW_NONE ? NULL : &list->entries[change->entry];
	struct seen seen = {0};

	seen.bar = review_dirs_stat(&dirs->paths, change->path, &seen.st);
	if (seen.bar == REVIEW_BAR_NO_DIR && replaced)
		seen.bar = REVIEW_BAR_MISSING;
	if (change->kind == REVIEW_RENAMED)
		return state_of_renamed(dirs, change, &seen, entry, why);
	/* Directories have no contents; their modes count only if the mode is what changed. */
	if (change->kind == REVIEW_MODE && change->new.type == 'd' && is_there(&seen) &&
	    S_ISDIR(seen.st.st_mode)) {
		const mode_t mode = seen.st.st_mode & 01777;

		if (mode == change->new.mode)
			return REVIEW_HOST_DONE;
		if (mode == change->old.mode)
			return REVIEW_HOST_SAME;
		return conflict(&seen, &change->old, why);
	}
	if (fits(&dirs->paths, change->path, &seen, &change->old, entry))
		return REVIEW_HOST_SAME;
	if (fits(&dirs->paths, change->path, &seen, &change->new, NULL))
		return REVIEW_HOST_DONE;
	/* A change of the type removes the old file first. It may have been ended behind that. */
	if (change->kind == REVIEW_TYPE && seen.bar == REVIEW_BAR_MISSING &&
	    (change->old.type == 'd' || change->new.type == 'd'))
		return REVIEW_HOST_SAME;
	return conflict(&seen, &change->old, why);
}
