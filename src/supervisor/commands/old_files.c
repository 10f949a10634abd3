/* SPDX-License-Identifier: MIT */
#include "supervisor/commands/old_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/inputs/manifest.h"

#define MANIFEST "workspace.json"
#define KEPT "workspace.json.before"

static int check_manifest(const struct workspace *ws, struct error *err)
{
	struct manifest manifest = {0};
	struct error why = {0};

	if (manifest_read(ws, &manifest, &why) < 0 && why.code != ERR_NOT_FOUND) {
		*err = why;
		return -1;
	}
	manifest_free(&manifest);
	return 0;
}

int old_files_check(const struct workspace *ws, struct error *err)
{
	static const char *const files[] = {"events.json", "runtime.json", "result.json",
					    "rootfs.json"};

	if (check_manifest(ws, err) < 0)
		return -1;
	for (size_t i = 0; ws->fd >= 0 && i < ARRAY_SIZE(files); i++) {
		struct error why = {0};
		json_auto_t *document = workspace_read(ws, files[i], &why);

		if (!document && why.code != ERR_NOT_FOUND) {
			*err = why;
			return -1;
		}
	}
	return 0;
}

/* Keeps the manifest by giving its file a second name. So keeping and restoring it writes no data,
 * and works on a full disk. */
int old_files_keep_manifest(const struct workspace *ws, bool *kept, struct error *err)
{
	old_files_drop_manifest(ws);
	*kept = linkat(ws->fd, MANIFEST, ws->fd, KEPT, 0) == 0;
	if (*kept || errno == ENOENT)
		return 0;
	return error_errno(err, errno, "%s/%s/" KEPT, ws->dir->path, ws->id);
}

void old_files_restore_manifest(const struct workspace *ws, bool kept)
{
	if (kept)
		(void)renameat(ws->fd, KEPT, ws->fd, MANIFEST);
	else
		(void)unlinkat(ws->fd, MANIFEST, 0);
	/* If both names are links to the same file, rename() does nothing and leaves both names. So
	 * the second name is removed here. */
	old_files_drop_manifest(ws);
}

void old_files_drop_manifest(const struct workspace *ws)
{
	(void)unlinkat(ws->fd, KEPT, 0);
}

int old_files_remove(const struct workspace *ws, struct error *err)
{
	static const char *const files[] = {"result.json", "runtime.json", "rootfs.json",
					    "serial.log"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (workspace_remove_file(ws, files[i], err) < 0)
			return -1;
	return 0;
}
