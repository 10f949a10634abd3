/* SPDX-License-Identifier: MIT */
/* Checks the archives of bundles. The command prepare unpacks them each time. The image of a reviewed
 * directory is kept. */
#include <errno.h>
#include <unistd.h>

#include "api/api.h"

#include "base/json.h"
#include "contract/request.h"

int archives_check(const json_t *config, struct error *err)
{
	const json_t *bundle;
	size_t i;

	json_array_foreach(json_object_get(config, "bundles"), i, bundle)
	{
		const char *path = json_text(bundle, "path", NULL);
		const char *name = json_text(bundle, "name", NULL);

		if (bundle_kind(bundle) == BUNDLE_REVIEW || !path || access(path, R_OK) == 0)
			continue;
		error_errno(err, errno, "%s", path);
		return error_prefix(
			err,
			"bundle \"%s\" must be made again, but its archive cannot be read; put the archive back at its path",
			name ? name : "");
	}
	return 0;
}
