/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/tool.h"
#include "base/path.h"

int tool_extend_path(struct error *err)
{
	static const char admin[] = "/usr/local/sbin:/usr/sbin:/sbin";
	const char *path = getenv("PATH");
	autobuf struct buf b = BUF_INIT(0);

	if (buf_printf(&b, err, "%s:%s", path && *path ? path : "/usr/local/bin:/usr/bin:/bin",
		       admin) < 0)
		return -1;
	if (setenv("PATH", buf_string(&b), 1) < 0)
		return error_errno(err, errno, "PATH");
	return 0;
}

char *tool_find(const char *name)
{
	const char *path = getenv("PATH");
	char file[1024];

	while (path && *path) {
		size_t n = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, name);
		if (n > 0 && access(file, X_OK) == 0)
			return path_absolute(file, NULL);
		path += n + (path[n] == ':');
	}
	return NULL;
}
