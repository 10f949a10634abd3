/* SPDX-License-Identifier: MIT */
/* What the guest of a session has told of what ran in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "session/session.h"
#include "store/audit.h"

int microagent_audit_telemetry(struct microagent *agent, const char *word,
			       int (*fn)(void *data, const char *line, size_t len,
					 struct error *err),
			       void *data, struct error *err)
{
	char name[SESSION_NAME_ROOM];
	autofree char *path = NULL;
	autoclose int fd = -1;

	if (session_name_parse(word, name, err) < 0)
		return -1;
	if (asprintf(&path, "%s/" SESSIONS_DIR "/%s" SESSION_SUFFIX "/telemetry.jsonl",
		     agent->state_path, name) < 0)
		return error_errno(err, ENOMEM, "telemetry");
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return error_set(
			err, ERR_NOT_FOUND,
			"there is no telemetry of session %s: it is gone, or nothing has run "
			"in it (`microagent session list`)",
			name);
	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	return audit_each_line(fd, fn, data, err);
}
