/* SPDX-License-Identifier: MIT */
/* A session's life: cloned, booted, destroyed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "session/base.h"

static double ms_since(uint64_t began_ns)
{
	return (double)(clock_mono_ns() - began_ns) / (double)NS_PER_MS;
}

void microagent_session_close(struct microagent_session *session)
{
	if (!session)
		return;
	microagent_guest_close(session->guest);
	microagent_close(session->agent);
	json_decref(session->record);
	pthread_mutex_destroy(&session->life);
	free(session);
}

static void close_session(struct microagent_session **session)
{
	microagent_session_close(*session);
}
#define auto_session __attribute__((cleanup(close_session)))

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

/* --- made ---------------------------------------------------------------------------------------- */

#define NAME_ATTEMPTS 8

/* Two of one second may draw the same four digits: the other one has the name, and this draws again. */
static int clone_named(struct microagent_session *session, const struct base *base,
		       const struct microagent_session_spec *spec, struct make *make,
		       json_t **config, struct error *err)
{
	struct error why = {0};

	for (int i = 0; i < NAME_ATTEMPTS; i++) {
		char name[SESSION_NAME_ROOM];

		if (session_name_new(name, err) < 0)
			return -1;
		set_name(session, name);
		if (session_clone(session, base, spec, make, config, &why) == 0)
			return 0;
		if (why.errnum != EEXIST && !strstr(why.msg, "choose another name"))
			break;
	}
	return error_copy(err, &why);
}

static int clone_and_prepare(struct microagent_session *session, const struct base *base,
			     const struct microagent_session_spec *spec, struct error *err)
{
	uint64_t began = clock_mono_ns();
	struct make make = MAKE_NONE;
	json_t *config = NULL;
	int status;

	if (clone_named(session, base, spec, &make, &config, err) < 0)
		return -1;
	session->clone_ms = ms_since(began);
	status = request_call(session->agent, "prepare", session->id, config, NULL, err);
	if (status == 0)
		status = session_audit_begin(session, base, &make.ws, err);
	if (status < 0)
		make_undo(&make);
	else
		make_done(&make);
	make_free(&make);
	return status;
}

int microagent_session_clone_base(struct microagent *agent,
				  const struct microagent_session_spec *spec,
				  struct microagent_session **out, struct error *err)
{
	auto_session struct microagent_session *session = NULL;
	auto_base struct base base = BASE_NONE;

	if (!spec->base)
		return error_set(err, ERR_INVALID, "a session needs a base");
	if (base_open(agent, spec->base, BASE_SHARED, &base, err) < 0)
		return -1;
	session = session_new(agent, err);
	if (!session || clone_and_prepare(session, &base, spec, err) < 0)
		return -1;
	*out = steal_ptr(&session);
	return 0;
}

int microagent_session_boot(struct microagent_session *session, struct error *err)
{
	uint64_t began = clock_mono_ns();
	int status;

	pthread_mutex_lock(&session->life);
	status = microagent_start(session->agent, session->id, NULL, err);
	if (status == 0)
		session->boot_ms = ms_since(began);
	pthread_mutex_unlock(&session->life);
	return status;
}

int microagent_session_create(struct microagent *agent, const struct microagent_session_spec *spec,
			      struct microagent_session **out, struct error *err)
{
	auto_session struct microagent_session *session = NULL;

	if (microagent_session_clone_base(agent, spec, &session, err) < 0)
		return -1;
	if (microagent_session_boot(session, err) < 0) {
		(void)microagent_session_destroy(session, NULL);
		return -1;
	}
	*out = steal_ptr(&session);
	return 0;
}

/* --- found --------------------------------------------------------------------------------------- */

static int read_record(struct microagent_session *session, const struct microagent *agent,
		       struct error *err)
{
	struct existing existing = {0};
	struct error why = {0};

	if (existing_open(session->agent, session->id, &existing, &why) < 0) {
		if (why.code != ERR_NOT_FOUND) {
			return error_copy(err, &why);
		}
		return error_set(err, ERR_NOT_FOUND,
				 "there is no session %s in %s: `microagent session list` shows "
				 "those that are there",
				 session->name, agent->state_path);
	}
	session->record = session_record_read(&existing.ws, err);
	existing_close(&existing);
	return session->record ? 0 : -1;
}

int microagent_session_open(struct microagent *agent, const char *word,
			    struct microagent_session **out, struct error *err)
{
	auto_session struct microagent_session *session = NULL;
	char name[SESSION_NAME_ROOM];

	if (session_name_parse(word, name, err) < 0)
		return -1;
	session = session_new(agent, err);
	if (!session)
		return -1;
	set_name(session, name);
	if (read_record(session, agent, err) < 0)
		return -1;
	*out = steal_ptr(&session);
	return 0;
}

/* --- ended --------------------------------------------------------------------------------------- */

static int verify_gone(const struct microagent_session *session, struct error *err)
{
	struct state_dir dir;
	struct workspace ws;
	bool gone;

	if (state_dir_open(session->agent->state_path, false, &dir, err) < 0)
		return -1;
	if (workspace_open(&dir, session->id, false, &ws, err) < 0) {
		state_dir_close(&dir);
		return -1;
	}
	gone = ws.fd < 0;
	workspace_close(&ws);
	state_dir_close(&dir);
	if (gone)
		return 0;
	return error_set(err, ERR_IO, "session %s is still there after it was removed",
			 session->name);
}

static int destroy(struct microagent_session *session, struct error *err)
{
	struct error why = {0};

	if (microagent_kill(session->agent, session->id, NULL, &why) < 0)
		return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	if (microagent_delete(session->agent, session->id, NULL, err) < 0)
		return -1;
	return verify_gone(session, err);
}

int microagent_session_destroy(struct microagent_session *session, struct error *err)
{
	int status;

	pthread_mutex_lock(&session->life);
	status = destroy(session, err);
	pthread_mutex_unlock(&session->life);
	return status;
}
