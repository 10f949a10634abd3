/* SPDX-License-Identifier: MIT */
/* The sessions that calls may touch: those that this server made, and those that the person named.
 */
#ifndef MCP_SESSIONS_H
#define MCP_SESSIONS_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "mcp/mcp.h"
#include "microagent_session.h"

struct mcp_session {
	struct list_link link;
	struct microagent_session *handle;
	bool made;	/* by this server */
	unsigned users; /* calls that have taken it */
	unsigned execs; /* numbers of its commands that were given out */
};

/* The places for machines that one call has. */
struct mcp_room {
	int64_t machines;
	bool given_up; /* the call is cancelled: its machines are on their way out */
};

struct mcp_sessions {
	const struct mcp_options *options;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* places, and who has given them up */
	struct list list, past; /* those that were made and are gone */
	int64_t machines;	/* made, in the making, and of `run` */
	int64_t leaving;	/* of those the machines of calls that are cancelled */
	unsigned runs;		/* numbers that were given out */
	int ended;		/* readable when one was destroyed (waitable.h) */
	unsigned destroying;
};

/* Opens those that the person named. */
int mcp_sessions_init(struct mcp_sessions *sessions, const struct mcp_options *options,
		      struct error *err);
/* No call is under way. */
void mcp_sessions_free(struct mcp_sessions *sessions);

/* A new handle of the state directory. */
struct microagent *mcp_open_agent(const struct mcp_options *options, struct error *err);

/* Room for so many more machines of a call, to be given back. Where there is none but what the
 * machines of cancelled calls still take, their end is waited for. ERR_UNAVAILABLE: there is none,
 * or the call is cancelled. */
int machines_reserve(struct mcp_sessions *sessions, struct mcp_room *room, int64_t count,
		     struct error *err);
void machines_release(struct mcp_sessions *sessions, struct mcp_room *room, int64_t count);
/* The call is cancelled. */
void machines_give_up(struct mcp_sessions *sessions, struct mcp_room *room);
/* One of those becomes that of a session that was made; the handle is taken over. */
int mcp_session_enter(struct mcp_sessions *sessions, struct mcp_room *room,
		      struct microagent_session *handle, struct error *err);

/* By its name, for a call; ERR_NOT_FOUND where there is none that may be touched. */
struct mcp_session *mcp_session_take(struct mcp_sessions *sessions, const char *name,
				     struct error *err);
void mcp_session_give(struct mcp_sessions *sessions, struct mcp_session *session);
unsigned mcp_session_number(struct mcp_sessions *sessions, struct mcp_session *session);
/* The same of a command of `run`. */
unsigned mcp_run_number(struct mcp_sessions *sessions);
bool mcp_session_is_known(struct mcp_sessions *sessions, const char *name, bool *made);

/* It is destroyed, and cannot be taken any more. */
void mcp_session_leave(struct mcp_sessions *sessions, struct mcp_session *session);

/* It was made by this server, and is destroyed. */
bool mcp_session_is_past(struct mcp_sessions *sessions, const char *name);

/* Destroys what was made, all at once, unless it is to be kept. Whether nothing is left at the
 * deadline; what is left ends with this process. */
bool mcp_sessions_end(struct mcp_sessions *sessions, uint64_t deadline_ns);

#endif
