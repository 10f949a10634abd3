/* SPDX-License-Identifier: MIT */
#include "supervisor/inputs/shares.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "store/share/rules.h"

static int share_open(const json_t *share, const struct config *config,
		      const struct backend *backend, struct error *err)
{
	json_auto_t *programs = backend->programs();
	const struct share_wish wish = {
		.path = json_text(share, "path", NULL),
		.state_dir = config->state_dir,
		.read_only = strcmp(json_text(share, "mode", NULL), "ro") == 0,
		.anyway = json_is_true(json_object_get(share, "anyway")),
		.direct = json_is_true(json_object_get(share, "direct")) ||
			  share_is_within(json_text(share, "path", NULL), config->shares),
		.programs = programs,
	};

	return programs ? share_open_allowed(&wish, err) : error_errno(err, ENOMEM, "programs");
}

int shares_open(const struct config *config, const struct backend *backend, int *fds,
		struct error *err)
{
	const json_t *share;
	size_t i;

	json_array_foreach(config->shares, i, share)
	{
		autoclose int fd = share_open(share, config, backend, err);

		if (fd < 0)
			return error_prefix(err, "config.shares[%zu].path", i);
		if (fds)
			fds[i] = steal_fd(&fd);
	}
	return 0;
}

int shares_check(const struct config *config, const struct backend *backend, struct error *err)
{
	return shares_open(config, backend, NULL, err);
}
