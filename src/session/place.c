/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "session/session.h"

int state_sub_open(const struct microagent *agent, const char *sub, bool create,
		   struct state_dir *out, struct error *err)
{
	autofree char *path = path_join(agent->state_path, sub, err);
	struct state_dir parent;

	if (!path)
		return -1;
	/* Whether the state directory itself is fit for use is seen first, and told of it. */
	if (state_dir_open(agent->state_path, create, &parent, err) < 0)
		return -1;
	state_dir_close(&parent);
	return state_dir_open(path, create, out, err);
}

struct microagent *sessions_agent(const struct microagent *agent, struct error *err)
{
	autofree char *path = path_join(agent->state_path, SESSIONS_DIR, err);
	struct microagent *sessions = path ? microagent_open(path, err) : NULL;

	if (sessions)
		microagent_on_wait(sessions, agent->wait_fn, agent->wait_data);
	return sessions;
}

char *state_of_sessions(const struct microagent *sessions, struct error *err)
{
	size_t len = strlen(sessions->state_path) - strlen("/" SESSIONS_DIR);
	char *state = strndup(sessions->state_path, len);

	if (!state)
		error_errno(err, ENOMEM, "session");
	return state;
}
