/* SPDX-License-Identifier: MIT */
#include "session/names.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "microagent.h"
#include "session/points/point.h"
#include "session/sessions/session.h"
#include "store/store.h"

static int open_names_part(const char *state_dir, const char *part, struct state_dir *out)
{
	autofree char *state = state_dir_default(state_dir, NULL);
	autofree char *path = state ? path_join(state, part, NULL) : NULL;

	return path ? state_dir_open(path, false, out, NULL) : -1;
}

static json_t *names_in(const char *state_dir, const char *part)
{
	struct state_dir dir;
	json_t *names;

	if (open_names_part(state_dir, part, &dir) < 0)
		return NULL;
	names = state_dir_list(&dir, NULL);
	state_dir_close(&dir);
	return names;
}

json_t *names_of_workspaces(const char *state_dir)
{
	json_auto_t *all = names_in(state_dir, "");
	json_t *names = json_array();
	json_t *name;
	size_t i;

	json_array_foreach(all, i, name)
	{
		if (microagent_check_name(json_string_value(name), NULL) == 0)
			json_array_append(names, name);
	}
	return names;
}

json_t *names_of_sessions(const char *state_dir)
{
	json_auto_t *ids = names_in(state_dir, SESSIONS_DIR);
	json_t *names = json_array();
	char name[SESSION_NAME_ROOM];
	const json_t *id;
	size_t i;

	json_array_foreach(ids, i, id)
	{
		if (session_name_of_id(json_string_value(id), name))
			json_array_append_new(names, json_string(name));
	}
	return names;
}

json_t *names_of_snapshots(const char *state_dir, const char *session)
{
	char name[SESSION_NAME_ROOM], id[SESSION_ID_ROOM];
	json_t *names = NULL;
	struct state_dir dir;
	struct workspace ws;

	if (session_name_parse(session, name, NULL) < 0 ||
	    open_names_part(state_dir, SESSIONS_DIR, &dir) < 0)
		return NULL;
	snprintf(id, sizeof(id), "%s.bundle", name);
	if (workspace_open(&dir, id, false, &ws, NULL) == 0) {
		names = ws.fd >= 0 ? point_names(&ws, NULL) : NULL;
		workspace_close(&ws);
	}
	state_dir_close(&dir);
	return names;
}
