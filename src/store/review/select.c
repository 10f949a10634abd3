/* SPDX-License-Identifier: MIT */
#include "store/review/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int review_selection_read(const char *const *paths, size_t count, struct review_selection *out,
			  struct error *err)
{
	auto_review_selection struct review_selection selection = {.all = count == 0};

	selection.paths = calloc(count + 1, sizeof(*selection.paths));
	selection.used = calloc(count + 1, sizeof(*selection.used));
	if (!selection.paths || !selection.used)
		return error_errno(err, ENOMEM, "paths");
	for (size_t i = 0; i < count; i++) {
		const char *at = paths[i];
		size_t len;

		while (at[0] == '.' && at[1] == '/')
			for (at += 2; *at == '/';)
				at++;
		len = strlen(at);
		while (len > 1 && at[len - 1] == '/')
			len--;
		if ((len == 0 && *paths[i]) || (len == 1 && *at == '.')) {
			selection.all = true;
			continue;
		}
		char *path = strndup(at, len);
		if (!path)
			return error_errno(err, ENOMEM, "paths");
		selection.paths[selection.count++] = path;
		if (!review_path_is_clean(path))
			return error_set(
				err, ERR_INVALID,
				"%.300s is not a path below the reviewed directory: give it relative to this directory and without \"..\"",
				paths[i]);
	}
	if (selection.count > 0)
		qsort(selection.paths, selection.count, sizeof(*selection.paths), compare_paths);
	*out = (struct review_selection){.paths = steal_ptr(&selection.paths),
					 .count = selection.count,
					 .used = steal_ptr(&selection.used),
					 .all = selection.all};
	selection.count = 0;
	return 0;
}

void review_selection_free(struct review_selection *selection)
{
	for (size_t i = 0; i < selection->count; i++)
		free(selection->paths[i]);
	free(selection->paths);
	free(selection->used);
	*selection = (struct review_selection){0};
}

/* Returns whether the first `len` bytes of `path` are a path of the selection. */
static bool is_selected(struct review_selection *selection, const char *path, size_t len)
{
	size_t from = 0, to = selection->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const char *at = selection->paths[middle];
		int order = strncmp(at, path, len);

		if (order == 0)
			order = at[len] != '\0';
		if (order == 0) {
			selection->used[middle] = true;
			return true;
		}
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return false;
}

static enum review_named find_path(struct review_selection *selection, const char *path)
{
	enum review_named named = REVIEW_NOT_NAMED;

	/* Each path that has named the change is marked as used. */
	for (const char *at = path; (at = strchr(at, '/')); at++)
		if (at != path && is_selected(selection, path, (size_t)(at - path)))
			named = REVIEW_NAMED_DIR;
	return is_selected(selection, path, strlen(path)) ? REVIEW_NAMED_EXACTLY : named;
}

enum review_named review_selection_find(struct review_selection *selection,
					const struct review_change *change)
{
	enum review_named named = REVIEW_NOT_NAMED, old = REVIEW_NOT_NAMED;

	if (selection->count > 0) {
		named = find_path(selection, change->path);
		if (change->kind == REVIEW_RENAMED)
			old = find_path(selection, change->from);
	}
	/* An autorun file, and a file of git, is applied only if its own path is named. By the old path
	 * it is only told. */
	if (old > named && (change->by || change->in_git))
		old = named == REVIEW_NOT_NAMED ? REVIEW_NAMED_ALL : named;
	if (old > named)
		named = old;
	return named == REVIEW_NOT_NAMED && selection->all ? REVIEW_NAMED_ALL : named;
}

int review_selection_check(const struct review_selection *selection, struct error *err)
{
	for (size_t i = 0; i < selection->count; i++)
		if (!selection->used[i])
			return error_set(
				err, ERR_NOT_FOUND,
				"no change of the guest has the path \"%.300s\": look at the list of changes",
				selection->paths[i]);
	return 0;
}
