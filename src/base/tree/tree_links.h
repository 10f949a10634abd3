/* SPDX-License-Identifier: MIT */
/* Remembers files that have more than one name, so that the second name is sent as a link to the
 * first. */
#ifndef BASE_TREE_LINKS_H
#define BASE_TREE_LINKS_H

#include <sys/stat.h>

#include "base/error.h"

struct tree_links;

struct tree_links *tree_links_new(void); /* NULL: no memory */
void tree_links_free(struct tree_links *links);
/* Returns the path under which the file was sent before; NULL if it is new. */
const char *tree_links_find(const struct tree_links *links, const struct stat *st);
/* Remembers that the file was sent as path. Beyond LIMIT_TREE_LINKS nothing is remembered: later
 * names are sent as separate files. */
int tree_links_note(struct tree_links *links, const struct stat *st, const char *path,
		    struct error *err);

#endif
