/* SPDX-License-Identifier: MIT */
/* What is said of the points of a session, by its live supervisor or without one. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "store/audit_line.h"

int audit_point_line(const struct workspace *ws, const char *what, const char *name,
		     const char **event, json_t **data, struct error *err)
{
	static const struct {
		const char *what, *event;
		bool forked;
	} rows[] = {{"forked", "session.forked", true},
		    {"snapshot", "session.snapshot", false},
		    {"snapshot-deleted", "session.snapshot-deleted", false},
		    {"restored", "session.restored", false}};
	char session[AUDIT_SESSION_ROOM];
	size_t i = 0;

	while (i < ARRAY_SIZE(rows) && strcmp(rows[i].what, what) != 0)
		i++;
	if (i == ARRAY_SIZE(rows) || strlen(name) >= AUDIT_SESSION_ROOM)
		return error_set(err, ERR_INVALID, "nothing is noted of \"%.32s\"", what);
	audit_name_session(ws, session);
	*data = rows[i].forked ? json_pack("{s:s, s:s}", "parent", session, "child", name)
			       : json_pack("{s:s}", "snapshot", name);
	*event = rows[i].event;
	return *data ? 0 : error_errno(err, ENOMEM, "audit");
}
