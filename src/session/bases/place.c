/* SPDX-License-Identifier: MIT */
#include "session/bases/place.h"

#include "base/cleanup.h"
#include "base/path.h"

int state_sub_open(const struct microagent *agent, const char *sub, bool create,
		   struct state_dir *out, struct error *err)
{
	autofree char *path = path_join(agent->state_path, sub, err);
	struct state_dir parent;
	int status;

	if (!path)
		return -1;
	/* Opens the state directory first. Otherwise an error about the state directory would be
	 * reported as an error about the directory below it. */
	if (state_dir_open(agent->state_path, create, &parent, err) < 0)
		return -1;
	status = state_dir_open_part(path, create, &parent, out, err);
	state_dir_close(&parent);
	return status;
}
