/* SPDX-License-Identifier: MIT */
/*
 * Counts running macOS guests. The licence of macOS (section 2B) allows two more copies of macOS,
 * as guests, on a Mac that runs macOS. The kernel of macOS enforces this limit: a third guest fails
 * with VZErrorVirtualMachineLimitExceeded
 * (developer.apple.com/documentation/virtualization/vzerror/code/virtualmachinelimitexceeded).
 */
#include "store/macos_guests.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/kind.h"

static bool runs_macos(const struct state_dir *dir, const char *id)
{
	json_auto_t *manifest = NULL;
	struct workspace ws;
	bool runs;

	if (workspace_open(dir, id, false, &ws, NULL) < 0)
		return false;
	runs = ws.fd >= 0 && lease_is_held(&ws);
	if (runs)
		manifest = workspace_read(&ws, "workspace.json", NULL);
	workspace_close(&ws);
	return json_object_get(json_object_get(manifest, "config"), "macos") != NULL;
}

int macos_guests_check_room(const struct state_dir *dir, const char *except, struct error *err)
{
	json_auto_t *list = state_dir_list(dir, err);
	autobuf struct buf names = BUF_INIT(0);
	uint64_t count = 0;
	const json_t *name;
	size_t i;

	if (!list)
		return -1;
	json_array_foreach(list, i, name)
	{
		const char *id = json_string_value(name);

		if ((except && strcmp(id, except) == 0) || !runs_macos(dir, id))
			continue;
		if (buf_printf(&names, err, "%s%.*s", count ? ", " : "", (int)kind_name_length(id),
			       id) < 0)
			return -1;
		count++;
	}
	if (count < limit_get(LIMIT_MACOS_GUESTS))
		return 0;
	return error_set(
		err, ERR_UNAVAILABLE,
		"%llu macOS guests already run (%s), and Apple allows no more of them on a Mac at once: stop one of them",
		(unsigned long long)limit_get(LIMIT_MACOS_GUESTS), buf_string(&names));
}
