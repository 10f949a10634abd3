/* SPDX-License-Identifier: MIT */
/* The table of the sessions that calls may use: sessions that this server has made, and sessions
 * that the person who started the server has named. Any thread may use these functions. */
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
	bool made;	/* true: this server has made the session */
	unsigned users; /* the number of calls that have taken the session now */
	unsigned execs; /* the number that the session's last command got; the first command gets
			 * 1 */
};

/* The places for machines that a call has taken. All calls and sessions together have max_machines
 * places. */
struct mcp_room {
	int64_t machines; /* the number of places that the call has taken */
	bool given_up;	  /* true: the call was cancelled, and its machines are being ended */
};

struct mcp_sessions {
	const struct mcp_options *options;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signalled when a place becomes free or a call is cancelled */
	/* `list` has the sessions that calls may use. `past` has the names of sessions that this
	 * server made and that are gone. */
	struct list list, past;
	/* The number of places in use: each place is for a machine that exists, that is being made,
	 * or that runs for `run`. */
	int64_t machines;
	int64_t leaving;     /* how many of these places belong to cancelled calls */
	unsigned runs;	     /* the number that the last command of `run` got; the first command
			      * gets 1 */
	int ended;	     /* a descriptor that is readable when a session was destroyed
			      * (waitable.h) */
	unsigned destroying; /* number of sessions that mcp_sessions_end() is destroying */
};

/* Sets up the table, and opens the sessions that the person who started the server has named. */
int mcp_sessions_init(struct mcp_sessions *sessions, const struct mcp_options *options,
		      struct error *err);
/* Frees the table. No call may be under way. */
void mcp_sessions_free(struct mcp_sessions *sessions);

/* Opens a new handle of the state directory, which the caller closes. */
struct microagent *mcp_open_agent(const struct mcp_options *options, struct error *err);

/* Takes places for `count` more machines of a call; machines_release() gives places back. If the
 * end of the machines of cancelled calls would make enough room, waits for their end. Fails with
 * ERR_UNAVAILABLE if there is no room, or if the call is cancelled. */
int machines_reserve(struct mcp_sessions *sessions, struct mcp_room *room, int64_t count,
		     struct error *err);
void machines_release(struct mcp_sessions *sessions, struct mcp_room *room, int64_t count);
/* Marks the places of a call as places of a cancelled call. */
void machines_give_up(struct mcp_sessions *sessions, struct mcp_room *room);
/* Adds to the table a session that a call has made. Takes over the session's handle, also on
 * failure. One of the call's places then belongs to the session. On failure the session is
 * destroyed. */
int mcp_session_enter(struct mcp_sessions *sessions, struct mcp_room *room,
		      struct microagent_session *handle, struct error *err);

/* Takes the session named `name` for a call; mcp_session_give() gives the session back. Returns
 * NULL with ERR_NOT_FOUND if the table has no such session. */
struct mcp_session *mcp_session_take(struct mcp_sessions *sessions, const char *name,
				     struct error *err);
void mcp_session_give(struct mcp_sessions *sessions, struct mcp_session *session);
/* Returns the next number for a command of the session. */
unsigned mcp_session_number(struct mcp_sessions *sessions, struct mcp_session *session);
/* Returns the next number for a command of `run`. */
unsigned mcp_run_number(struct mcp_sessions *sessions);
/* Returns true if the table has a session named `name`. Then sets *made to true if this server has
 * made the session, else to false. */
bool mcp_session_is_known(struct mcp_sessions *sessions, const char *name, bool *made);

/* Removes from the table a session that was destroyed, so that no call can take it any more. */
void mcp_session_leave(struct mcp_sessions *sessions, struct mcp_session *session);

/* Returns true if this server has made a session named `name`, and the session is gone. */
bool mcp_session_is_past(struct mcp_sessions *sessions, const char *name);

/* Destroys the sessions that the server made, all at the same time, unless the options say that
 * sessions stay. Returns true if all of them are destroyed at the deadline. A session that is not
 * destroyed by then ends with this process. */
bool mcp_sessions_end(struct mcp_sessions *sessions, uint64_t deadline_ns);

#endif
