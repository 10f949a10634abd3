/* SPDX-License-Identifier: MIT */
/* Reads the telemetry of a session: what its guest reported about the programs that ran in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "session/sessions/session.h"
#include "store/audit.h"

static int open_telemetry_below(const struct microagent *agent, const char *place, const char *name,
				const char *suffix, int *fd, struct error *err)
{
	autofree char *path = NULL;

	if (asprintf(&path, "%s/%s/%s%s/" AUDIT_TELEMETRY, agent->state_path, place, name, suffix) <
	    0) {
		path = NULL;
		return error_errno(err, ENOMEM, "telemetry");
	}
	*fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return *fd >= 0 || errno == ENOENT ? 0 : error_errno(err, errno, "%s", path);
}

/* Opens the session's telemetry. Sets *fd to -1 if the file does not exist. The archive is checked
 * after the session's directory, because a destruction first makes the archive and then removes the
 * directory. */
int session_telemetry_open(const struct microagent *agent, const char *name, int *fd,
			   struct error *err)
{
	if (open_telemetry_below(agent, SESSIONS_DIR, name, BUNDLE_SUFFIX, fd, err) < 0)
		return -1;
	return *fd >= 0 ? 0 : open_telemetry_below(agent, ARCHIVE_DIR, name, "", fd, err);
}

static bool is_below(const struct microagent *agent, const char *place, const char *name,
		     const char *suffix)
{
	autofree char *path = NULL;

	if (asprintf(&path, "%s/%s/%s%s", agent->state_path, place, name, suffix) < 0)
		path = NULL;
	return path && access(path, F_OK) == 0;
}

int microagent_audit_telemetry(struct microagent *agent, const char *word,
			       int (*fn)(void *data, const char *line, size_t len,
					 struct error *err),
			       void *data, struct error *err)
{
	char name[SESSION_NAME_ROOM];
	autoclose int fd = -1;

	if (session_audited_parse(word, name, err) < 0 ||
	    session_telemetry_open(agent, name, &fd, err) < 0)
		return -1;
	/* The telemetry file does not exist before the guest's first report. */
	if (fd < 0 && is_below(agent, SESSIONS_DIR, name, BUNDLE_SUFFIX))
		return error_set(
			err, ERR_NOT_FOUND,
			"the guest of session %s has not reported yet what runs in it: try again in a few seconds",
			name);
	if (fd < 0 && is_below(agent, ARCHIVE_DIR, name, ""))
		return error_set(
			err, ERR_NOT_FOUND,
			"the guest of session %s never reported what ran in it, so there is no telemetry",
			name);
	if (fd < 0) {
		error_set(err, ERR_NOT_FOUND,
			  "there is no telemetry of session %s: there is no such session", name);
		return error_reason(err, REASON_NO_AUDIT_LOG, name);
	}
	if (audit_each_line(fd, audit_telemetry_most_bytes(), fn, data, err) < 0)
		return error_prefix(err, AUDIT_TELEMETRY " of session %s", name);
	return 0;
}
