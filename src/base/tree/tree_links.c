/* SPDX-License-Identifier: MIT */
#include "base/tree/tree_links.h"

#include <errno.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"

struct tree_links {
	void *tree; /* the root of a tree of struct name, made by tsearch(); NULL: the tree is
		     * empty */
	uint64_t count;
};

struct name {
	dev_t dev;
	ino_t ino;
	char *path;
};

static int compare_links(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->dev < y->dev ? -1 : x->dev > y->dev;
}

static void free_name(void *data)
{
	struct name *name = data;

	free(name->path);
	free(name);
}

struct tree_links *tree_links_new(void)
{
	return calloc(1, sizeof(struct tree_links));
}

void tree_links_free(struct tree_links *links)
{
	while (links && links->tree) {
		struct name *top = *(struct name **)links->tree;

		tdelete(top, &links->tree, compare_links);
		free_name(top);
	}
	free(links);
}

const char *tree_links_find(const struct tree_links *links, const struct stat *st)
{
	struct name key = {.dev = st->st_dev, .ino = st->st_ino};
	struct name *const *found = NULL;

	if (st->st_nlink > 1)
		found = tfind(&key, &links->tree, compare_links);
	return found ? (*found)->path : NULL;
}

int tree_links_note(struct tree_links *links, const struct stat *st, const char *path,
		    struct error *err)
{
	struct name *name;

	if (st->st_nlink < 2 || links->count >= limit_get(LIMIT_TREE_LINKS))
		return 0;
	name = calloc(1, sizeof(*name));
	if (!name)
		return error_errno(err, ENOMEM, "files");
	*name = (struct name){st->st_dev, st->st_ino, strdup(path)};
	if (!name->path || !tsearch(name, &links->tree, compare_links)) {
		free_name(name);
		return error_errno(err, ENOMEM, "files");
	}
	links->count++;
	return 0;
}
