/* SPDX-License-Identifier: MIT */
/* Whether a guest has run since prepare. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "store/store.h"

static bool has_file(const struct workspace *ws, const char *file)
{
	struct stat st;

	return fstatat(ws->fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Earlier versions wrote ROOTFS_RECORD at the second start alone. Of the first one their
 * runtime.json has the guest's word. */
static bool has_heard_guest(const struct workspace *ws)
{
	struct error ignored;
	json_auto_t *runtime = workspace_read(ws, "runtime.json", &ignored);

	return json_object_get(runtime, "guest") != NULL;
}

bool workspace_was_started(const struct workspace *ws)
{
	return ws->fd >= 0 && (has_file(ws, ROOTFS_RECORD) || has_heard_guest(ws));
}
