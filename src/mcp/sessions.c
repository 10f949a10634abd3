/* SPDX-License-Identifier: MIT */
#include "mcp/sessions.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/waitable.h"

struct microagent *mcp_open_agent(const struct mcp_options *options, struct error *err)
{
	struct microagent *agent = microagent_open(options->state_dir, err);

	if (!agent || !options->backend ||
	    microagent_use_backend(agent, options->backend, err) == 0)
		return agent;
	microagent_close(agent);
	return NULL;
}

struct past_session {
	struct list_link link;
	char name[64];
};

static struct mcp_session *put_session(struct mcp_sessions *sessions,
				       struct microagent_session *handle, bool made)
{
	struct mcp_session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->handle = handle;
	session->made = made;
	pthread_mutex_lock(&sessions->lock);
	list_add(&sessions->list, &session->link);
	pthread_mutex_unlock(&sessions->lock);
	return session;
}

static void close_entry(struct mcp_session *session)
{
	microagent_session_close(session->handle);
	free(session);
}

int mcp_sessions_init(struct mcp_sessions *sessions, const struct mcp_options *options,
		      struct error *err)
{
	struct microagent *agent = mcp_open_agent(options, err);
	int status = agent ? 0 : -1;

	*sessions = (struct mcp_sessions){.options = options, .ended = wake_open()};
	list_init(&sessions->list);
	list_init(&sessions->past);
	pthread_mutex_init(&sessions->lock, NULL);
	pthread_cond_init(&sessions->changed, NULL);
	if (status == 0 && sessions->ended < 0)
		status = error_errno(err, errno, "sessions");
	for (const char *const *name = options->sessions; status == 0 && name && *name; name++) {
		struct microagent_session *handle;

		status = microagent_session_open(agent, *name, &handle, err);
		if (status == 0 && !put_session(sessions, handle, false)) {
			microagent_session_close(handle);
			status = error_errno(err, ENOMEM, "session");
		}
	}
	microagent_close(agent);
	if (status < 0)
		mcp_sessions_free(sessions);
	return status;
}

void mcp_sessions_free(struct mcp_sessions *sessions)
{
	struct mcp_session *session;
	struct past_session *past;

	list_each (session, &sessions->list, link) {
		list_remove(&session->link);
		close_entry(session);
	}
	list_each (past, &sessions->past, link) {
		list_remove(&past->link);
		free(past);
	}
	cleanup_close(&sessions->ended);
	pthread_cond_destroy(&sessions->changed);
	pthread_mutex_destroy(&sessions->lock);
}

/* --- room for machines ----------------------------------------------------------------------- */

/* Adds `count` to the number of places for machines that the call has. `count` may be negative. The
 * caller holds the lock. */
static void change_room(struct mcp_sessions *sessions, struct mcp_room *room, int64_t count)
{
	room->machines += count;
	if (room->given_up)
		sessions->leaving += count;
	pthread_cond_broadcast(&sessions->changed);
}

int machines_reserve(struct mcp_sessions *sessions, struct mcp_room *room, int64_t count,
		     struct error *err)
{
	int64_t most = sessions->options->max_machines;
	int status = 0;

	pthread_mutex_lock(&sessions->lock);
	/* If the end of the machines of cancelled calls would free enough places, waits for their
	 * end. The deadlines of their supervisors limit this wait. */
	while (!room->given_up && count > most - sessions->machines &&
	       count <= most - (sessions->machines - sessions->leaving))
		pthread_cond_wait(&sessions->changed, &sessions->lock);
	if (room->given_up) {
		status = error_set(err, ERR_UNAVAILABLE, "cancelled");
	} else if (count > most - sessions->machines) {
		status = error_set(
			err, ERR_UNAVAILABLE,
			"this server may have %lld machines at once, and already has %lld: destroy one with session_destroy",
			(long long)most, (long long)sessions->machines);
	} else {
		sessions->machines += count;
		change_room(sessions, room, count);
	}
	pthread_mutex_unlock(&sessions->lock);
	return status;
}

void machines_release(struct mcp_sessions *sessions, struct mcp_room *room, int64_t count)
{
	pthread_mutex_lock(&sessions->lock);
	sessions->machines -= count;
	change_room(sessions, room, -count);
	pthread_mutex_unlock(&sessions->lock);
}

void machines_give_up(struct mcp_sessions *sessions, struct mcp_room *room)
{
	pthread_mutex_lock(&sessions->lock);
	if (!room->given_up)
		sessions->leaving += room->machines;
	room->given_up = true;
	pthread_cond_broadcast(&sessions->changed);
	pthread_mutex_unlock(&sessions->lock);
}

/* --- names ----------------------------------------------------------------------------------- */

int mcp_session_enter(struct mcp_sessions *sessions, struct mcp_room *room,
		      struct microagent_session *handle, struct error *err)
{
	if (put_session(sessions, handle, true)) {
		pthread_mutex_lock(&sessions->lock);
		change_room(sessions, room, -1); /* the call's place now belongs to the session */
		pthread_mutex_unlock(&sessions->lock);
		return 0;
	}
	(void)microagent_session_destroy(handle, NULL);
	microagent_session_close(handle);
	machines_release(sessions, room, 1);
	return error_errno(err, ENOMEM, "session");
}

/* Returns the session with this name, or NULL. The caller holds the lock. */
static struct mcp_session *entry_named(const struct mcp_sessions *sessions, const char *name)
{
	struct mcp_session *session;

	list_each (session, &sessions->list, link)
		if (strcmp(microagent_session_name(session->handle), name) == 0)
			return session;
	return NULL;
}

struct mcp_session *mcp_session_take(struct mcp_sessions *sessions, const char *name,
				     struct error *err)
{
	struct mcp_session *session;

	pthread_mutex_lock(&sessions->lock);
	session = entry_named(sessions, name);
	if (session)
		session->users++;
	pthread_mutex_unlock(&sessions->lock);
	if (!session)
		error_set(
			err, ERR_NOT_FOUND,
			"there is no session %.100s that this server may use: session_list shows those that exist",
			name);
	return session;
}

void mcp_session_give(struct mcp_sessions *sessions, struct mcp_session *session)
{
	bool last;

	pthread_mutex_lock(&sessions->lock);
	session->users--;
	last = session->users == 0 && !list_has(&session->link);
	pthread_mutex_unlock(&sessions->lock);
	if (last)
		close_entry(session);
}

unsigned mcp_session_number(struct mcp_sessions *sessions, struct mcp_session *session)
{
	unsigned number;

	pthread_mutex_lock(&sessions->lock);
	number = ++session->execs;
	pthread_mutex_unlock(&sessions->lock);
	return number;
}

unsigned mcp_run_number(struct mcp_sessions *sessions)
{
	unsigned number;

	pthread_mutex_lock(&sessions->lock);
	number = ++sessions->runs;
	pthread_mutex_unlock(&sessions->lock);
	return number;
}

bool mcp_session_is_known(struct mcp_sessions *sessions, const char *name, bool *made)
{
	const struct mcp_session *session;

	pthread_mutex_lock(&sessions->lock);
	session = entry_named(sessions, name);
	if (session)
		*made = session->made;
	pthread_mutex_unlock(&sessions->lock);
	return session != NULL;
}

/* --- the end --------------------------------------------------------------------------------- */

void mcp_session_leave(struct mcp_sessions *sessions, struct mcp_session *session)
{
	struct past_session *past;

	pthread_mutex_lock(&sessions->lock);
	/* If two calls destroy the same session, the second call finds that the session was already
	 * removed from the list. */
	if (list_has(&session->link) && session->made) {
		sessions->machines--;
		pthread_cond_broadcast(&sessions->changed);
		past = calloc(1, sizeof(*past));
		if (past) {
			snprintf(past->name, sizeof(past->name), "%s",
				 microagent_session_name(session->handle));
			list_add(&sessions->past, &past->link);
		}
	}
	list_remove(&session->link);
	pthread_mutex_unlock(&sessions->lock);
}

bool mcp_session_is_past(struct mcp_sessions *sessions, const char *name)
{
	const struct past_session *past;
	bool found = false;

	pthread_mutex_lock(&sessions->lock);
	list_each (past, &sessions->past, link)
		found = found || strcmp(past->name, name) == 0;
	pthread_mutex_unlock(&sessions->lock);
	return found;
}

struct last_moment {
	struct mcp_sessions *sessions;
	struct mcp_session *session;
};

static void *destroy_at_end(void *data)
{
	struct last_moment *ending = data;
	struct mcp_sessions *sessions = ending->sessions;
	struct error why = {0};

	if (microagent_session_destroy(ending->session->handle, &why) < 0 &&
	    sessions->options->warn)
		sessions->options->warn(why.msg);
	mcp_session_give(sessions, ending->session);
	free(ending);
	pthread_mutex_lock(&sessions->lock);
	sessions->destroying--;
	wake_raise(sessions->ended);
	pthread_mutex_unlock(&sessions->lock);
	return NULL;
}

/* Begins to destroy the session on a new thread. The thread takes the session as a call does,
 * because a late call may destroy the session at the same time. If no thread can be started, the
 * session ends when this process, its owner, ends. The caller holds the lock. */
static void begin_end_of(struct mcp_sessions *sessions, struct mcp_session *session)
{
	struct last_moment *ending = malloc(sizeof(*ending));
	pthread_attr_t detached;
	pthread_t thread;

	if (!ending)
		return;
	*ending = (struct last_moment){sessions, session};
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &detached, destroy_at_end, ending) == 0) {
		session->users++;
		sessions->destroying++;
	} else {
		free(ending);
	}
	pthread_attr_destroy(&detached);
}

bool mcp_sessions_end(struct mcp_sessions *sessions, uint64_t deadline_ns)
{
	struct mcp_session *session;
	struct error late = {0};
	char text[120];

	pthread_mutex_lock(&sessions->lock);
	list_each (session, &sessions->list, link) {
		if (session->made && sessions->options->keep) {
			/* The person who started the server asked for sessions to stay. The warning
			 * names the sessions that the person must end by hand. */
			snprintf(text, sizeof(text), "session %s stays",
				 microagent_session_name(session->handle));
			if (sessions->options->warn)
				sessions->options->warn(text);
		} else if (session->made) {
			begin_end_of(sessions, session);
		}
	}
	pthread_mutex_unlock(&sessions->lock);
	for (;;) {
		bool none;

		wake_clear(sessions->ended);
		pthread_mutex_lock(&sessions->lock);
		none = sessions->destroying == 0;
		pthread_mutex_unlock(&sessions->lock);
		if (none)
			return true;
		if (fd_wait(sessions->ended, POLLIN, deadline_ns, &late) < 0)
			return false;
	}
}
