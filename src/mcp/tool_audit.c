/* SPDX-License-Identifier: MIT */
/* The tool `audit`: returns the audit log of a session, which the host has written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/server.h"
#include "mcp/tools.h"

struct audit_lines {
	json_t *lines;
	struct mcp_answer *answer;
	int64_t after, last;
	size_t room;
	bool more;
};

/* Takes a line of the audit log. Ignores an incomplete last line, since the log may be written at
 * this moment. */
static int take_audit_line(void *data, const char *text, size_t len, struct error *err)
{
	struct audit_lines *audit = data;
	json_auto_t *line = len && text[len - 1] == '\n' ? json_load_strict(text, len, NULL) : NULL;
	autofree char *said = NULL;
	int64_t seq = json_integer_value(json_object_get(line, "seq"));

	audit->more = audit->more || (line && audit->answer->text.len > audit->room);
	if (!line || seq <= audit->after || audit->more)
		return 0;
	audit->last = seq;
	said = json_line(json_object_get(line, "data"), err);
	if (!said ||
	    answer_say(audit->answer, err, "%s %s %s %.1500s\n", json_text(line, "ts", ""),
		       json_text(line, "severity", ""), json_text(line, "event", ""), said) < 0)
		return -1;
	return json_array_append(audit->lines, line) < 0 ? error_errno(err, ENOMEM, "audit") : 0;
}

int tool_audit(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	struct mcp_sessions *sessions = &call->server->sessions;
	int64_t after = call_number(call, "after", 0);
	struct mcp_session *session;
	struct microagent *agent;
	int status;
	const char *name = call_text(call, "session");
	struct audit_lines audit = {.lines = json_array(),
				    .answer = answer,
				    .after = after,
				    .last = after,
				    .room = (size_t)call->server->options->result_bytes};

	if (answer_structured(answer, json_pack("{s:o}", "lines", audit.lines), err) < 0)
		return -1;
	/* The audit log of a destroyed session is in the archive. */
	if (!mcp_session_is_past(sessions, name)) {
		session = call_session(call, err);
		if (!session)
			return -1;
		mcp_session_give(sessions, session);
	}
	agent = mcp_open_agent(call->server->options, err);
	status = agent ? microagent_audit_read(agent, name, take_audit_line, &audit, err) : -1;
	microagent_close(agent);
	if (status < 0 || json_put(answer->structured, "last", json_integer(audit.last), err) < 0)
		return -1;
	return json_put(answer->structured, "more", json_boolean(audit.more), err);
}
