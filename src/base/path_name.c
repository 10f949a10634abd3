/* SPDX-License-Identifier: MIT */
/* Functions for paths and names as text, which read no file. For these functions "/" is the only
 * separator, also on Windows, because many of the paths are those of guests. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"

#define SAFE_NAME_BYTES 128

char *path_join(const char *a, const char *b, struct error *err)
{
	autobuf struct buf out = BUF_INIT(0);
	size_t len = strlen(a);
	bool a_alone = !*b, b_alone = *b == '/' || !*a;
	const char *slash = a_alone || b_alone || a[len - 1] == '/' ? "" : "/";

	if (buf_printf(&out, err, "%s%s%s", b_alone && !a_alone ? "" : a, slash, b) < 0)
		return NULL;
	return buf_steal_string(&out, err);
}

/* Drops empty and "." components, in place. */
static void clean_path(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		from += strspn(from, "/");
		size_t n = strcspn(from, "/");
		if (n > 0 && !(n == 1 && from[0] == '.')) {
			*to++ = '/';
			memmove(to, from, n);
			to += n;
		}
		from += n;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

char *path_clean(const char *path, struct error *err)
{
	char *cleaned = strdup(path);

	if (cleaned)
		clean_path(cleaned);
	else
		error_errno(err, ENOMEM, "%s", path);
	return cleaned;
}

bool path_is_below(const char *path, const char *dir)
{
	size_t len = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

bool path_is_safe_basename(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > SAFE_NAME_BYTES || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < 0x20 || *p == 0x7f || *p == '/' || *p == '\\')
			return false;
	return true;
}
