/* SPDX-License-Identifier: MIT */
/* Finds sessions that were removed manually. For such a session, the security log has a line about
 * its beginning, but no line about its end, and there is neither a directory nor an archive of the
 * session. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "session/sessions/orphan.h"
#include "store/audit.h"

#define GONE_BY_HAND "its directory was removed by hand, and there is no archive of it"

static bool state_has(const struct microagent *agent, const char *where, const char *name,
		      const char *suffix)
{
	char *path = NULL;
	struct stat st;
	bool has;

	if (asprintf(&path, "%s/%s/%s%s", agent->state_path, where, name, suffix) < 0)
		return true;
	has = lstat(path, &st) == 0 || errno != ENOENT;
	free(path);
	return has;
}

/* Returns true if none of the directories has the session. The directories are checked in the order
 * in which a destruction moves the session's files. In another order, files that are just being
 * moved could be missed. */
static bool is_nowhere(const struct microagent *agent, const char *name)
{
	static const struct {
		const char *where, *suffix;
	} places[] = {{SESSIONS_DIR, BUNDLE_SUFFIX},
		      {SESSIONS_DIR "/.locks/.making", BUNDLE_SUFFIX ".end"},
		      {SESSIONS_DIR "/.locks/.gone", BUNDLE_SUFFIX},
		      {ARCHIVE_DIR, ""}};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (state_has(agent, places[i].where, name, places[i].suffix))
			return false;
	return true;
}

int sessions_tell_gone(const struct microagent *agent, json_t *told, struct error *err)
{
	json_auto_t *known = json_object();
	const char *name;
	json_t *over;

	/* The security log is read before the directories are checked, because a session gets its
	 * directory before its first line in this log, and keeps it until it has an archive. In the
	 * opposite order, a new session could look like a removed one. */
	if (!known || security_log_sessions(agent->state_path, known, err) < 0)
		return -1;
	json_object_foreach(known, name, over)
	{
		char parsed[SESSION_NAME_ROOM];

		if (json_is_true(over) || session_name_parse(name, parsed, NULL) < 0 ||
		    !is_nowhere(agent, name))
			continue;
		orphan_tell(agent, name, ORPHAN_GONE, ORPHAN_ADOPTED, GONE_BY_HAND);
		if (json_array_append_new(
			    told, json_pack("{s:s,s:s}", "name", name, "why", GONE_BY_HAND)) < 0)
			return error_errno(err, ENOMEM, "orphans");
	}
	return 0;
}
