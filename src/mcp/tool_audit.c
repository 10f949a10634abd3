/* SPDX-License-Identifier: MIT */
/* audit: what the host has recorded of a session. */
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

static int say_line(struct mcp_answer *answer, const json_t *line, struct error *err)
{
	autofree char *data = json_line(json_object_get(line, "data"), err);

	return data ? answer_say(answer, err, "%s %s %s %.1500s\n", json_text(line, "ts", ""),
				 json_text(line, "severity", ""), json_text(line, "event", ""),
				 data)
		    : -1;
}

/* The last line may just be in the writing. */
static int take_audit_line(void *data, const char *text, size_t len, struct error *err)
{
	struct audit_lines *audit = data;
	json_t *line = len && text[len - 1] == '\n' ? json_load_strict(text, len, NULL) : NULL;
	int64_t seq = json_integer_value(json_object_get(line, "seq"));

	audit->more = audit->more || (line && audit->answer->text.len > audit->room);
	if (!line || seq <= audit->after || audit->more) {
		json_decref(line);
		return 0;
	}
	audit->last = seq;
	if (say_line(audit->answer, line, err) < 0) {
		json_decref(line);
		return -1;
	}
	return json_array_append_new(audit->lines, line) < 0 ? error_errno(err, ENOMEM, "audit")
							     : 0;
}

/* That of a session that was destroyed is in the archive. */
static int may_be_read(struct mcp_call *call, const char *name, struct error *err)
{
	struct mcp_session *session;

	if (mcp_session_is_past(&call->server->sessions, name))
		return 0;
	session = call_session(call, err);
	if (!session)
		return -1;
	mcp_session_give(&call->server->sessions, session);
	return 0;
}

static int read_audit(const struct mcp_call *call, const char *name, struct audit_lines *audit,
		      struct error *err)
{
	struct microagent *agent = mcp_open_agent(call->server->options, err);
	int status = agent ? microagent_audit_read(agent, name, take_audit_line, audit, err) : -1;

	microagent_close(agent);
	return status;
}

int tool_audit(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	int64_t after = call_number(call, "after", 0);
	const char *name = call_text(call, "session");
	struct audit_lines audit = {.lines = json_array(),
				    .answer = answer,
				    .after = after,
				    .last = after,
				    .room = (size_t)call->server->options->result_bytes};

	if (answer_structured(answer, json_pack("{s:o}", "lines", audit.lines), err) < 0 ||
	    may_be_read(call, name, err) < 0 || read_audit(call, name, &audit, err) < 0 ||
	    json_put(answer->structured, "last", json_integer(audit.last), err) < 0)
		return -1;
	return json_put(answer->structured, "more", json_boolean(audit.more), err);
}
