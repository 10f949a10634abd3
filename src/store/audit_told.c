/* SPDX-License-Identifier: MIT */
/* Makes and writes lines about events of a session or sandbox that another process reports. The
 * live supervisor writes the line. If there is no live supervisor, the reporting command writes
 * it. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "store/audit_line.h"

/* The largest number of bytes of a name in a line about a reported event. Names of sessions,
 * snapshots and containers, and paths of directories, are not longer. */
#define NAME_MAX_BYTES 4096

int audit_told_line(const struct workspace *ws, const char *what, const char *name, json_t *more,
		    struct audit_event *line, json_t **data, struct error *err)
{
	static const struct {
		const char *what, *subsystem, *event, *key;
		enum audit_severity severity;
	} rows[] = {
		{"forked", "session", "session.forked", "child", AUDIT_INFO},
		{"on-fork", "session", "session.on-fork", "parent", AUDIT_INFO},
		{"snapshot", "session", "session.snapshot", "snapshot", AUDIT_INFO},
		{"snapshot-deleted", "session", "session.snapshot-deleted", "snapshot", AUDIT_INFO},
		{"restored", "session", "session.restored", "snapshot", AUDIT_INFO},
		{"share-missing", "share", "share.missing", "path", AUDIT_WARNING},
		{"created", "container", "container.created", "container", AUDIT_INFO},
		{"deleted", "container", "container.deleted", "container", AUDIT_INFO}};
	char session[AUDIT_SESSION_ROOM];
	json_auto_t *told = json_object();
	size_t i = 0;

	while (i < ARRAY_SIZE(rows) && strcmp(rows[i].what, what) != 0)
		i++;
	if (i == ARRAY_SIZE(rows) || strlen(name) > NAME_MAX_BYTES)
		return error_set(
			err, ERR_INVALID,
			"nothing was written to the audit log, because \"%.32s\" is not an event that a command may report, or the name in the event is too long",
			what);
	audit_name_session(ws, session);
	if ((strcmp(what, "forked") == 0 && json_put_string(told, "parent", session, err) < 0) ||
	    json_put_string(told, rows[i].key, name, err) < 0)
		return -1;
	if (more && json_object_update_missing(told, more) < 0)
		return error_errno(err, ENOMEM, "audit");
	*line = (struct audit_event){.severity = rows[i].severity,
				     .subsystem = rows[i].subsystem,
				     .event = rows[i].event};
	*data = json_incref(told);
	return 0;
}
