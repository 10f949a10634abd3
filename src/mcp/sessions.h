/* SPDX-License-Identifier: MIT */
/* The sessions that calls may touch: those that this server made, and those that the person
 * named. */
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
	unsigned users; /* how many calls have taken it */
	unsigned execs; /* how many numbers were given to its commands */
};

/* The places for machines that one call has taken. */
struct mcp_room {
	int64_t machines;
	bool given_up; /* the call is cancelled: its machines are being ended */
};

struct mcp_sessions {
	const struct mcp_options *options;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signalled when places or given_up change */
	struct list list, past; /* list: in use; past: made by this server, and gone */
	int64_t machines;	/* machines that exist, are being made, or run for `run` */
	int64_t leaving;	/* how many of them belong to cancelled calls */
	unsigned runs;		/* how many numbers were given to commands of `run` */
	int ended;		/* readable when a session was destroyed (waitable.h) */
	unsigned destroying;
};

/* Sets up the registry and opens the sessions that the person named. */
int mcp_sessions_init(struct mcp_sessions *sessions, const struct mcp_options *options,
		      struct error *err);
/* Frees the registry. No call may be under way. */
void mcp_sessions_free(struct mcp_sessions *sessions);

/* Opens a new handle of the state directory, which the caller closes. */
struct microagent *mcp_open_agent(const struct mcp_options *options, struct error *err);

/* Takes places for `count` more machines of a call, which machines_release() gives back. If only
 * the machines of cancelled calls stand in the way, waits for their end. Fails with ERR_UNAVAILABLE
 * if there is no room, or if the call is cancelled. */
int machines_reserve(struct mcp_sessions *sessions, struct mcp_room *room, int64_t count,
		     struct error *err);
void machines_release(struct mcp_sessions *sessions, struct mcp_room *room, int64_t count);
/* Marks the call as cancelled. */
void machines_give_up(struct mcp_sessions *sessions, struct mcp_room *room);
/* Enters a session that was made, and takes over the handle. One place of the call becomes the
 * session's. */
int mcp_session_enter(struct mcp_sessions *sessions, struct mcp_room *room,
		      struct microagent_session *handle, struct error *err);

/* Finds a session by its name for a call; mcp_session_give() gives it back. Returns NULL with
 * ERR_NOT_FOUND if no session of that name may be touched. */
struct mcp_session *mcp_session_take(struct mcp_sessions *sessions, const char *name,
				     struct error *err);
void mcp_session_give(struct mcp_sessions *sessions, struct mcp_session *session);
unsigned mcp_session_number(struct mcp_sessions *sessions, struct mcp_session *session);
/* Returns the next number for a command of `run`. */
unsigned mcp_run_number(struct mcp_sessions *sessions);
bool mcp_session_is_known(struct mcp_sessions *sessions, const char *name, bool *made);

/* Removes a session that was destroyed, so that no call can take it any more. */
void mcp_session_leave(struct mcp_sessions *sessions, struct mcp_session *session);

/* Returns true if this server made a session of that name and the session is destroyed. */
bool mcp_session_is_past(struct mcp_sessions *sessions, const char *name);

/* Destroys the sessions that the server made, all at once, unless the options say to keep them.
 * Returns true if none is left at the deadline. A session that is left ends with this process. */
bool mcp_sessions_end(struct mcp_sessions *sessions, uint64_t deadline_ns);

#endif
