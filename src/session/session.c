/* SPDX-License-Identifier: MIT */
/* A session's life: cloned and booted, and found again. Its end is in destroy.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "session/pool.h"
#include "store/audit.h"

static double ms_since(uint64_t began_ns)
{
	return (double)(clock_mono_ns() - began_ns) / (double)NS_PER_MS;
}

void microagent_session_close(struct microagent_session *session)
{
	if (!session)
		return;
	microagent_guest_close(session->guest);
	session_made(session);
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
	session->mark = -1;
	pthread_mutex_init(&session->life, NULL);
	session->agent = sessions_agent(agent, err);
	if (session->agent)
		return session;
	microagent_session_close(session);
	return NULL;
}

static void set_name(struct microagent_session *session, const char *name)
{
	snprintf(session->name, sizeof(session->name), "%s", name);
	snprintf(session->id, sizeof(session->id), "%s" SESSION_SUFFIX, name);
}

struct microagent_session *session_handle(const struct microagent *agent, const char *name,
					  struct error *err)
{
	struct microagent_session *session = session_new(agent, err);

	if (session)
		set_name(session, name);
	return session;
}

/* --- made ------------------------------------------------------------------------------------ */

#define NAME_ATTEMPTS 8

/* The clock may have been set back to a second that has had sessions. */
static bool is_archived(const struct microagent_session *session, const char *name)
{
	autofree char *state = state_of_sessions(session->agent, NULL);
	autofree char *archives = state ? path_join(state, ARCHIVE_DIR, NULL) : NULL;
	autofree char *path = archives ? path_join(archives, name, NULL) : NULL;

	return path && access(path, F_OK) == 0;
}

/* Two of one second may draw the same four digits: the other one has the name, and this draws
 * again. */
static int clone_named(struct microagent_session *session, const struct base *base,
		       const struct microagent_session_spec *spec, const char *source,
		       struct make *make, json_t **config, struct error *err)
{
	struct error why = {0};

	for (int i = 0; i < NAME_ATTEMPTS; i++) {
		char name[SESSION_NAME_ROOM];

		if (session_name_new(name, err) < 0)
			return -1;
		if (is_archived(session, name))
			continue;
		set_name(session, name);
		if (session_clone(session, base, spec, source, make, config, &why) == 0)
			return 0;
		if (why.code != ERR_CONFLICT || why.errnum != EEXIST)
			break;
	}
	return error_copy(err, &why);
}

static int clone_and_prepare(struct microagent_session *session, const struct base *base,
			     const struct microagent_session_spec *spec, const char *source,
			     struct error *err)
{
	uint64_t began = clock_mono_ns();
	struct make make = MAKE_NONE;
	json_t *config = NULL;
	int status;

	if (clone_named(session, base, spec, source, &make, &config, err) < 0)
		return -1;
	session->clone_ms = ms_since(began);
	status = request_call(session->agent, "prepare", session->id, config, NULL, err);
	if (status == 0)
		status = session_audit_begin(session, base, &make.ws, err);
	if (status < 0)
		make_undo(&make);
	else
		session->mark = make_done_marked(&make);
	make_free(&make);
	return status;
}

/* The descriptor is the caller's, and lent for the making alone. */
static void cancel_by(struct microagent_session *session, int fd)
{
	session->agent->cancel = fd > 0 ? fd : -1;
	session->agent->apart = fd > 0;
}

int session_make(const struct microagent *agent, const struct base *base,
		 const struct microagent_session_spec *spec, const char *source,
		 struct microagent_session **out, struct error *err)
{
	auto_session struct microagent_session *session = session_new(agent, err);

	if (!session)
		return -1;
	cancel_by(session, spec->cancel);
	if (clone_and_prepare(session, base, spec, source, err) < 0)
		return -1;
	*out = steal_ptr(&session);
	return 0;
}

void session_made(struct microagent_session *session)
{
	struct state_dir dir;

	if (session->mark < 0 || !session->agent)
		return;
	cancel_by(session, -1);
	if (state_dir_open(session->agent->state_path, false, &dir, NULL) == 0) {
		struct workspace ws;

		if (workspace_open(&dir, session->id, false, &ws, NULL) == 0) {
			if (ws.fd >= 0)
				making_disown(&ws);
			workspace_close(&ws);
		}
		making_unmark(&dir, session->id);
		state_dir_close(&dir);
	}
	close(steal_fd(&session->mark));
}

void session_unmake(struct microagent_session *session)
{
	session->agent->cancel = -1;
	if (microagent_session_destroy(session, NULL) < 0 && session->mark >= 0)
		close(steal_fd(&session->mark));
}

int session_make_booted(const struct microagent *agent, const struct base *base,
			const struct microagent_session_spec *spec, const char *source,
			struct microagent_session **out, struct error *err)
{
	auto_session struct microagent_session *session = NULL;

	if (session_make(agent, base, spec, source, &session, err) < 0)
		return -1;
	if (microagent_session_boot(session, err) < 0) {
		session_unmake(session);
		return -1;
	}
	*out = steal_ptr(&session);
	return 0;
}

typedef int from_base(struct microagent *agent, const struct base *base,
		      const struct microagent_session_spec *spec, struct microagent_session **out,
		      struct error *err);

static int open_base(struct microagent *agent, const struct microagent_session_spec *spec,
		     struct base *base, struct error *err)
{
	if (!spec->base)
		return error_set(err, ERR_INVALID, "a session needs a base");
	if (base_open(agent, spec->base, BASE_SHARED, base, err) < 0)
		return -1;
	sessions_sweep(agent, NULL, NULL);
	return 0;
}

/* Made by fn. Hashing the base is what may take long before there is a machine. */
static int make_with(struct microagent *agent, const struct microagent_session_spec *spec,
		     from_base *fn, struct microagent_session **out, struct error *err)
{
	int before = digest_cancel_by(spec->cancel > 0 ? spec->cancel : -1);
	auto_base struct base base = BASE_NONE;
	int status = -1;

	if (open_base(agent, spec, &base, err) == 0)
		status = fn(agent, &base, spec, out, err);
	if (status == 0)
		session_made(*out);
	digest_cancel_by(before);
	return status;
}

static int clone_only(struct microagent *agent, const struct base *base,
		      const struct microagent_session_spec *spec, struct microagent_session **out,
		      struct error *err)
{
	return session_make(agent, base, spec, SESSION_NEW, out, err);
}

int microagent_session_clone_base(struct microagent *agent,
				  const struct microagent_session_spec *spec,
				  struct microagent_session **out, struct error *err)
{
	return make_with(agent, spec, clone_only, out, err);
}

int microagent_session_boot(struct microagent_session *session, struct error *err)
{
	uint64_t began = clock_mono_ns();
	int status;

	pthread_mutex_lock(&session->life);
	status = microagent_start(session->agent, session->id, NULL, err);
	if (status == 0 && session_share_again(session, err) < 0) {
		(void)microagent_kill(session->agent, session->id, NULL, NULL);
		status = -1;
	}
	if (status == 0)
		session->boot_ms = ms_since(began);
	pthread_mutex_unlock(&session->life);
	return status;
}

static int claim_or_make(struct microagent *agent, const struct base *base,
			 const struct microagent_session_spec *spec,
			 struct microagent_session **out, struct error *err)
{
	int claimed = pool_claim(agent, base, spec, out, err);

	if (claimed != 0)
		return claimed < 0 ? -1 : 0;
	return session_make_booted(agent, base, spec, SESSION_NEW, out, err);
}

int microagent_session_create(struct microagent *agent, const struct microagent_session_spec *spec,
			      struct microagent_session **out, struct error *err)
{
	return make_with(agent, spec, claim_or_make, out, err);
}

/* --- found ----------------------------------------------------------------------------------- */

static int no_such_session(const struct microagent_session *session, struct error *err)
{
	autofree char *state = state_of_sessions(session->agent, err);

	return state ? error_set(err, ERR_NOT_FOUND,
				 "there is no session %s in %s: `microagent session list` shows "
				 "those that are there",
				 session->name, state)
		     : -1;
}

int session_read_record(struct microagent_session *session, struct error *err)
{
	struct existing existing = {0};
	struct error why = {0};

	if (existing_open(session->agent, session->id, &existing, &why) < 0)
		return why.code == ERR_NOT_FOUND ? no_such_session(session, err)
						 : error_copy(err, &why);
	session->record = session_record_read(&existing.ws, &why);
	existing_close(&existing);
	session->quota_bytes = json_integer_value(json_object_get(session->record, "quotaBytes"));
	if (session->record)
		return 0;
	if (why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	return error_set(err, ERR_CONFLICT,
			 "%s/%s has no " SESSION_RECORD ": it is no session of microagent, and is "
			 "left alone",
			 session->agent->state_path, session->id);
}

static enum making_state making_of_session(const struct microagent_session *session)
{
	enum making_state making = MAKING_NOT;
	struct state_dir dir;

	if (state_dir_open(session->agent->state_path, false, &dir, NULL) < 0)
		return MAKING_NOT;
	making = making_of(&dir, session->id);
	state_dir_close(&dir);
	return making;
}

/* What the next sweep takes away is for nobody to work in. */
static int refuse_unfinished(const struct microagent_session *session, struct error *err)
{
	switch (making_of_session(session)) {
	case MAKING_NOW:
		return error_set(err, ERR_CONFLICT,
				 "session %s is being made by another command just now",
				 session->name);
	case MAKING_BROKE_OFF:
		return error_set(err, ERR_CONFLICT, "session %s is " SESSION_UNFINISHED,
				 session->name);
	case MAKING_NOT:
		break;
	}
	return 0;
}

int microagent_session_open(struct microagent *agent, const char *word,
			    struct microagent_session **out, struct error *err)
{
	auto_session struct microagent_session *session = NULL;
	char name[SESSION_NAME_ROOM];

	if (session_name_parse(word, name, err) < 0)
		return -1;
	session = session_handle(agent, name, err);
	if (!session)
		return -1;
	if (session_read_record(session, err) < 0 || refuse_unfinished(session, err) < 0)
		return -1;
	*out = steal_ptr(&session);
	return 0;
}
