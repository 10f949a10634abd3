/* SPDX-License-Identifier: MIT */
#include "supervisor/commands/host_files.h"

#include <fcntl.h>

#include "base/cleanup.h"
#include "base/platform/file.h"
#include "base/platform/linux/isolate.h"

const char *host_files(struct error *why)
{
	autoclose int own = file_open_place(AT_FDCWD, "/proc/self", 0);
	const struct isolate_tree tree = {.path = "/proc/self", .fd = own};
	const struct isolate_reach reach = {.trees = &tree, .tree_count = 1};
	struct error no_landlock = {0}, no_root = {0};
	const bool landlock = isolate_landlock_version(&no_landlock) > 0;
	const bool root = isolate_trees_try(&reach, &no_root) == 0;

	if (!root)
		*why = no_root;
	if (!landlock && root)
		*why = no_landlock;
	else if (!landlock)
		error_prefix(why, "%s", no_landlock.msg);
	return isolate_files_name(root, landlock);
}
