/* SPDX-License-Identifier: MIT */
/* The handle of a session. The handle has the session's record after the record was read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/lifeline.h"
#include "session/sessions/session.h"

/* --- state directories ----------------------------------------------------------------------- */

static struct microagent *agent_like(const struct microagent *agent, const char *path,
				     struct error *err)
{
	struct microagent *other = microagent_open(path, err);

	if (other) {
		microagent_on_wait(other, agent->wait_fn, agent->wait_data);
		other->backend = agent->backend;
		other->unconfined = agent->unconfined;
	}
	return other;
}

struct microagent *sessions_agent(const struct microagent *agent, struct error *err)
{
	autofree char *path = path_join(agent->state_path, SESSIONS_DIR, err);

	return path ? agent_like(agent, path, err) : NULL;
}

struct microagent *state_agent(const struct microagent *sessions, struct error *err)
{
	autofree char *path = state_of_sessions(sessions, err);

	return path ? agent_like(sessions, path, err) : NULL;
}

char *state_of_sessions(const struct microagent *sessions, struct error *err)
{
	size_t len = strlen(sessions->state_path) - strlen("/" SESSIONS_DIR);
	char *state = strndup(sessions->state_path, len);

	if (!state)
		error_errno(err, ENOMEM, "session");
	return state;
}

/* --- handles --------------------------------------------------------------------------------- */

void microagent_session_close(struct microagent_session *session)
{
	if (!session)
		return;
	microagent_guest_close(session->guest);
	/* An owned session that has no machine yet must end with its handle. So its mark is closed
	 * and not removed, and the next sweep removes the session. */
	if (session->mark >= 0 && session_waits_owned(session))
		close(steal_fd(&session->mark));
	session_made(session);
	lifeline_cut(&session->lifeline);
	microagent_close(session->agent);
	json_decref(session->record);
	pthread_mutex_destroy(&session->life);
	free(session);
}

void session_close(struct microagent_session **session)
{
	microagent_session_close(*session);
}

const char *microagent_session_name(const struct microagent_session *session)
{
	return session->name;
}

static struct microagent_session *session_new(const struct microagent *agent, struct error *err)
{
	struct microagent_session *session = calloc(1, sizeof(*session));

	if (!session) {
		error_errno(err, ENOMEM, "session");
		return NULL;
	}
	session->lifeline = session->mark = -1;
	pthread_mutex_init(&session->life, NULL);
	session->agent = sessions_agent(agent, err);
	if (session->agent) {
		/* A session in quarantine is kept until a person destroys it by its name. */
		session->agent->keep_quarantined = true;
		return session;
	}
	microagent_session_close(session);
	return NULL;
}

void session_set_name(struct microagent_session *session, const char *name)
{
	snprintf(session->name, sizeof(session->name), "%s", name);
	snprintf(session->id, sizeof(session->id), "%s" BUNDLE_SUFFIX, name);
}

struct microagent_session *session_handle(const struct microagent *agent, const char *name,
					  struct error *err)
{
	struct microagent_session *session = session_new(agent, err);

	if (session)
		session_set_name(session, name);
	return session;
}

/* The caller keeps the descriptor, and must not close it before the session is made. */
void session_cancel_by(struct microagent_session *session, int fd)
{
	session->agent->cancel = fd > 0 ? fd : -1;
	session->agent->apart = fd > 0;
}

bool session_waits_owned(const struct microagent_session *session)
{
	return session->owned && session->lifeline < 0;
}

void session_made(struct microagent_session *session)
{
	struct state_dir dir;

	if (session->mark < 0 || !session->agent)
		return;
	session_cancel_by(session, -1);
	/* Before lifeline_let_go(), the supervisor ends the session if this process dies. After
	 * that, until the marks are removed, the next sweep does so. */
	if (!session->owned)
		lifeline_let_go(&session->lifeline);
	if (state_dir_open(session->agent->state_path, false, &dir, NULL) == 0) {
		struct workspace ws;

		if (workspace_open(&dir, session->id, false, &ws, NULL) == 0) {
			if (ws.fd >= 0)
				unfinished_disown(&ws);
			workspace_close(&ws);
		}
		(void)unfinished_unmark(&dir, session->id, NULL);
		state_dir_close(&dir);
	}
	close(steal_fd(&session->mark));
}

/* --- finding a session ----------------------------------------------------------------------- */

static int open_session(const struct microagent_session *session, struct open_workspace *out,
			struct error *err)
{
	autofree char *state = NULL;
	struct error why = {0};

	if (open_workspace_named(session->agent, session->id, out, &why) == 0)
		return 0;
	if (why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	state = state_of_sessions(session->agent, err);
	if (!state)
		return -1;
	error_set(err, ERR_NOT_FOUND, "there is no session %s in %s", session->name, state);
	return error_reason(err, REASON_NO_SESSION, session->name);
}

static int read_record_in(struct microagent_session *session, const struct workspace *ws,
			  struct error *err)
{
	struct error why = {0};

	json_decref(session->record);
	session->record = session_record_read(ws, &why);
	session->quota_bytes = json_integer_value(json_object_get(session->record, "quotaBytes"));
	if (session->record)
		return 0;
	if (why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	return error_set(err, ERR_CONFLICT,
			 "%s/%s has no " SESSION_RECORD
			 ": it is not a session of microagent, and is left as it is",
			 session->agent->state_path, session->id);
}

int session_read_record(struct microagent_session *session, struct error *err)
{
	struct open_workspace existing = {0};
	int status;

	if (open_session(session, &existing, err) < 0)
		return -1;
	status = read_record_in(session, &existing.ws, err);
	open_workspace_close(&existing);
	return status;
}

/* Refuses an unfinished session, because the next sweep removes it. If `living` is set, accepts an
 * unfinished session whose machine runs: callers with `living` only look at the machine, put it
 * into quarantine or destroy it, and a guest that is slow to boot must not delay this. */
static int refuse_unfinished(const struct microagent_session *session,
			     const struct open_workspace *existing, bool living, struct error *err)
{
	if (living && lease_is_held(&existing->ws))
		return 0;
	switch (unfinished_of(&existing->dir, session->id)) {
	case UNFINISHED_UNDER_WAY:
		return error_set(
			err, ERR_CONFLICT,
			"session %s is being made by another command: try again when that command has ended",
			session->name);
	case UNFINISHED_BROKE_OFF:
		error_set(err, ERR_CONFLICT, "session %s is " SESSION_UNFINISHED, session->name);
		return error_reason(err, REASON_SESSION_UNFINISHED, session->name);
	case UNFINISHED_NOT:
		break;
	}
	return 0;
}

static int open_named(const struct microagent *agent, const char *word, bool living,
		      struct microagent_session **out, struct error *err)
{
	auto_session struct microagent_session *session = NULL;
	struct open_workspace existing = {0};
	char name[SESSION_NAME_ROOM];
	int status;

	if (session_name_parse(word, name, err) < 0)
		return -1;
	session = session_handle(agent, name, err);
	if (!session || open_session(session, &existing, err) < 0)
		return -1;
	status = read_record_in(session, &existing.ws, err);
	if (status == 0)
		status = refuse_unfinished(session, &existing, living, err);
	if (status == 0)
		status = session_refuse_over(agent, session, &existing.dir, err);
	open_workspace_close(&existing);
	if (status == 0)
		*out = steal_ptr(&session);
	return status;
}

int microagent_session_open(struct microagent *agent, const char *word,
			    struct microagent_session **out, struct error *err)
{
	return open_named(agent, word, false, out, err);
}

int microagent_session_open_living(struct microagent *agent, const char *word,
				   struct microagent_session **out, struct error *err)
{
	return open_named(agent, word, true, out, err);
}
