/* SPDX-License-Identifier: MIT */
#include "supervisor/inputs/shares.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "store/share_dir.h"

int shares_open(const struct config *config, int *fds, struct error *err)
{
	json_t *share;
	size_t i;

	json_array_foreach(config->shares, i, share)
	{
		const char *path = json_text(share, "path", NULL);
		const char *mode = json_text(share, "mode", NULL);
		autoclose int fd =
			share_dir_open(path, config->state_dir, strcmp(mode, "ro") == 0, err);

		if (fd < 0)
			return error_prefix(err, "config.shares[%zu].path", i);
		if (fds)
			fds[i] = steal_fd(&fd);
	}
	return 0;
}

int shares_check(const struct config *config, struct error *err)
{
	return shares_open(config, NULL, err);
}
