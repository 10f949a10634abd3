/* SPDX-License-Identifier: MIT */
/* Remembers files that have more than one name. The first name of such a file is sent as a file.
 * Each further name is sent as a hard link to the first name. */
#ifndef BASE_TREE_LINKS_H
#define BASE_TREE_LINKS_H

#include <sys/stat.h>

#include "base/error.h"

struct tree_links;

struct tree_links *tree_links_new(void); /* returns NULL if there is no memory */
void tree_links_free(struct tree_links *links);
/* Returns the path under which the file was sent before; NULL if the file was not sent yet. */
const char *tree_links_find(const struct tree_links *links, const struct stat *st);
/* Remembers that the file was sent with the path `path`. If LIMIT_TREE_LINKS files are already
 * remembered, does nothing. A further name of the file is then sent as a separate file. */
int tree_links_note(struct tree_links *links, const struct stat *st, const char *path,
		    struct error *err);

#endif
