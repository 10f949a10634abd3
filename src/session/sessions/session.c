/* SPDX-License-Identifier: MIT */
/* Makes a session: clones its disk and boots its machine. destroy.c destroys sessions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/machine.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "session/sessions/session.h"
#include "store/audit.h"

static double ms_since(uint64_t began_ns)
{
	return (double)(clock_mono_ns() - began_ns) / (double)NS_PER_MS;
}

#define NAME_ATTEMPTS 8

/* Returns true if an archive has the name. The name of a new session can be that of an archive if
 * the clock was set back to a second in which a session was made. */
static bool is_name_archived(const struct microagent_session *session, const char *name)
{
	autofree char *state = state_of_sessions(session->agent, NULL);
	autofree char *archives = state ? path_join(state, ARCHIVE_DIR, NULL) : NULL;
	autofree char *path = archives ? path_join(archives, name, NULL) : NULL;

	return path && access(path, F_OK) == 0;
}

/* Draws another name if a session with the drawn name exists. Two processes may draw the same four
 * digits in one second. Then only one of them can make the session with this name. */
int session_draw_name(struct microagent_session *session, session_named_fn *fn, void *data,
		      struct error *err)
{
	struct error why = {0};

	for (int i = 0; i < NAME_ATTEMPTS; i++) {
		char name[SESSION_NAME_ROOM];

		if (session_name_new(name, err) < 0)
			return -1;
		if (is_name_archived(session, name))
			continue;
		session_set_name(session, name);
		if (fn(session, data, &why) == 0)
			return 0;
		if (why.code != ERR_CONFLICT || why.errnum != EEXIST)
			break;
	}
	return error_copy(err, &why);
}

struct cloning {
	const struct base *base;
	const struct microagent_session_spec *spec;
	const char *source;
	struct creation made;
	json_t *config;
};

static int clone_named(struct microagent_session *session, void *data, struct error *err)
{
	struct cloning *cloning = data;

	return session_clone(session, cloning->base, cloning->spec, cloning->source, &cloning->made,
			     &cloning->config, err);
}

static int clone_and_prepare(struct microagent_session *session, const struct base *base,
			     const struct microagent_session_spec *spec, const char *source,
			     struct error *err)
{
	struct cloning cloning = {
		.base = base, .spec = spec, .source = source, .made = CREATION_NONE};
	uint64_t began = clock_mono_ns();
	int status;

	if (session_draw_name(session, clone_named, &cloning, err) < 0)
		return -1;
	session->clone_ms = ms_since(began);
	status = request_call(session->agent, "prepare", session->id, cloning.config, NULL, err);
	if (status == 0)
		status = session_audit_begin(session, base, &cloning.made.ws, err);
	if (status < 0)
		creation_undo(&cloning.made);
	else
		session->mark = creation_done_marked(&cloning.made);
	creation_free(&cloning.made);
	return status;
}

int session_make(const struct microagent *agent, const struct base *base,
		 const struct microagent_session_spec *spec, const char *source,
		 struct microagent_session **out, struct error *err)
{
	auto_session struct microagent_session *session = session_handle(agent, "", err);

	if (!session)
		return -1;
	session_cancel_by(session, spec->cancel);
	if (clone_and_prepare(session, base, spec, source, err) < 0)
		return -1;
	*out = steal_ptr(&session);
	return 0;
}

void session_unmake(struct microagent_session *session, struct error *err)
{
	struct error why = {0};

	session->agent->cancel = -1;
	if (microagent_session_destroy(session, &why) == 0)
		return;
	if (why.reason == REASON_SESSION_QUARANTINED) {
		session_made(session);
		if (err && !strstr(err->msg, why.msg))
			(void)error_prefix(err, "%s", why.msg);
		(void)error_reason(err, why.reason, session->name);
	} else if (session->mark >= 0) {
		close(steal_fd(&session->mark));
	}
}

int session_make_booted(const struct microagent *agent, const struct base *base,
			const struct microagent_session_spec *spec, const char *source,
			struct microagent_session **out, struct error *err)
{
	auto_session struct microagent_session *session = NULL;

	if (session_make(agent, base, spec, source, &session, err) < 0)
		return -1;
	session->owned = spec->owned;
	if (microagent_session_boot(session, err) < 0) {
		session_unmake(session, err);
		return -1;
	}
	*out = steal_ptr(&session);
	return 0;
}

static int open_base_of(struct microagent *agent, const struct microagent_session_spec *spec,
			struct base *base, struct error *err)
{
	if (!spec->base)
		return error_set(err, ERR_INVALID,
				 "a session needs a base of which it is cloned: name one");
	if (base_open(agent, spec->base, BASE_SHARED, base, err) < 0)
		return -1;
	sessions_sweep(agent, NULL, NULL);
	return 0;
}

/* spec->cancel also cancels the hashing of the base. Before the session has a machine, only the
 * hashing can take long. */
int session_make_with(struct microagent *agent, const struct microagent_session_spec *spec,
		      session_maker *fn, struct microagent_session **out, struct error *err)
{
	int before = digest_cancel_by(spec->cancel > 0 ? spec->cancel : -1);
	auto_base struct base base = BASE_NONE;
	int status = -1;

	if (machine_check(&spec->machine, MACHINE_SESSION, err) == 0 &&
	    term_check(spec->lifetime_seconds, spec->idle_seconds, err) == 0 &&
	    open_base_of(agent, spec, &base, err) == 0)
		status = fn(agent, &base, spec, out, err);
	if (status == 0 && session_waits_owned(*out))
		session_cancel_by(*out, -1);
	else if (status == 0)
		session_made(*out);
	/* The record is read again, because the end of the lifetime was written into it when the
	 * session was ready. */
	if (status == 0 && spec->lifetime_seconds)
		(void)session_read_record(*out, NULL);
	digest_cancel_by(before);
	return status;
}

static int clone_only(struct microagent *agent, const struct base *base,
		      const struct microagent_session_spec *spec, struct microagent_session **out,
		      struct error *err)
{
	struct microagent_session *session = NULL;

	if (session_make(agent, base, spec, SESSION_NEW, &session, err) < 0)
		return -1;
	session->owned = spec->owned;
	*out = session;
	return 0;
}

int microagent_session_clone_base(struct microagent *agent,
				  const struct microagent_session_spec *spec,
				  struct microagent_session **out, struct error *err)
{
	return session_make_with(agent, spec, clone_only, out, err);
}

int microagent_session_boot(struct microagent_session *session, struct error *err)
{
	uint64_t began = clock_mono_ns();
	int status;

	pthread_mutex_lock(&session->life);
	status = session_record_settle(session, err);
	if (status == 0)
		status = session_start(session, err);
	if (status == 0) {
		status = microagent_session_share_again(session, err);
		/* The machine is ended, because files that a command writes to the directory of a
		 * missing share would be lost. A machine in quarantine is not ended:
		 * microagent_kill() refuses. */
		if (status < 0)
			(void)microagent_kill(session->agent, session->id, NULL, NULL);
	}
	if (status == 0) {
		session->boot_ms = ms_since(began);
		/* A member of a pool counts as unfinished until it is in the pool. If the filler is
		 * killed before that, the member's machine ends with the filler. */
		if (strcmp(json_text(session->record, "source", ""), SESSION_POOL) != 0)
			session_made(session);
	}
	pthread_mutex_unlock(&session->life);
	return status;
}
