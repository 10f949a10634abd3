/* SPDX-License-Identifier: MIT */
/* The names of files that have more than one, so that the second is sent as a link to the first. */
#ifndef BASE_TREE_LINKS_H
#define BASE_TREE_LINKS_H

#include <sys/stat.h>

#include "base/error.h"

struct tree_links;

struct tree_links *tree_links_new(void); /* NULL: no memory */
void tree_links_free(struct tree_links *links);
/* The path under which the file came before; NULL: it is new. */
const char *tree_links_find(const struct tree_links *links, const struct stat *st);
/* The file has been sent as path. Beyond LIMIT_TREE_LINKS nothing is remembered: later names are
 * sent as files of their own. */
int tree_links_note(struct tree_links *links, const struct stat *st, const char *path,
		    struct error *err);

#endif
