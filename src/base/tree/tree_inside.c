/* SPDX-License-Identifier: MIT */
#include "base/tree/tree_inside.h"

#include <stdio.h>
#include <string.h>

static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

static bool is_up(const char *p, size_t len)
{
	return len == 2 && p[0] == '.' && p[1] == '.';
}

static bool has_up(const char *target)
{
	while (*target) {
		size_t len = strcspn(target, "/");

		if (is_up(target, len))
			return true;
		target += len + (target[len] == '/');
	}
	return false;
}

/* Returns true if a relative target stays in the tree. ".." components at the beginning of the
 * target are followed only from directories of the tree, which are not symbolic links. ".." after
 * another component is refused, so all other components lead downwards. If one of these components
 * is a symbolic link, the target of that link is checked separately by this function. */
static bool stays_inside(const char *path, const char *target)
{
	size_t depth = depth_of(path);

	if (*target == '/' || !*target)
		return false;
	for (;;) {
		size_t len = strcspn(target, "/");

		if (is_up(target, len)) {
			if (depth-- == 0)
				return false;
		} else if (len > 0 && !(len == 1 && target[0] == '.')) {
			return !has_up(target);
		}
		if (!target[len])
			return true;
		target += len + 1;
	}
}

/* Returns the part of an absolute target after `root`, without "/" at its beginning: "" if `target`
 * is equal to `root`. Returns NULL if `target` is neither `root` nor below `root`. */
static const char *below(const char *root, const char *target)
{
	size_t len = strlen(root);

	while (len > 0 && root[len - 1] == '/')
		len--;
	if (strncmp(target, root, len) != 0 || (target[len] && target[len] != '/'))
		return NULL;
	return target + len + strspn(target + len, "/");
}

static bool make_relative(const char *root, const char *path, char *target)
{
	const char *rest = below(root, target);
	char text[TREE_PATH_MAX + 1];
	size_t depth = depth_of(path), len = 0;

	if (!rest || 3 * depth + strlen(rest) + 2 > TREE_PATH_MAX)
		return false;
	while (depth-- > 0)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "../");
	len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", rest);
	snprintf(target, TREE_PATH_MAX + 1, "%s", len ? text : ".");
	return true;
}

bool tree_link_inside(const char *root, const char *path, char target[TREE_PATH_MAX + 1])
{
	if (*target == '/' && !make_relative(root, path, target))
		return false;
	return stays_inside(path, target);
}
