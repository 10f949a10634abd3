/* SPDX-License-Identifier: MIT */
/* Between the files of the sessions' part of libmicroagent. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "microagent_session.h"

#define SESSION_RECORD "session.json"
/* "session-2026-05-10T14-22-00Z-a7f3" and NUL. */
#define SESSION_NAME_ROOM 40
#define SESSION_SUFFIX ".bundle"

struct microagent_session {
	struct microagent *agent; /* of <state>/sessions; our own */
	char name[SESSION_NAME_ROOM];
	char id[SESSION_NAME_ROOM + 8]; /* the name with .bundle: the runtimeID */
	json_t *record;			/* session.json; never changed once read */
	double clone_ms, boot_ms;	/* of this handle; 0: not done by it */
	/* agent is used by one thread at a time: who boots, destroys or connects holds it. */
	pthread_mutex_t life;
	struct microagent_guest *guest; /* NULL: not connected yet */
};

/* ---- naming.c ------------------------------------------------------------------------------- */

/* Of now, in UTC, with four random hexadecimal digits. */
int session_name_new(char out[SESSION_NAME_ROOM], struct error *err);
/* ERR_INVALID for what no session can be called; a name with ".bundle" behind it is taken too. */
int session_name_parse(const char *word, char out[SESSION_NAME_ROOM], struct error *err);
/* The name of a session's directory, or false. */
bool session_name_of_id(const char *id, char out[SESSION_NAME_ROOM]);

/* ---- place.c: <state>/bases and <state>/sessions ------------------------------------------------ */

#define BASES_DIR "bases"
#define SESSIONS_DIR "sessions"

/* Opens <state>/<sub>, made where it is missing and create is set; ERR_NOT_FOUND otherwise. */
int state_sub_open(const struct microagent *agent, const char *sub, bool create,
		   struct state_dir *out, struct error *err);
/* The handle of <state>/sessions, which need not exist. */
struct microagent *sessions_agent(const struct microagent *agent, struct error *err);

/* ---- clone.c ---------------------------------------------------------------------------------- */

struct base;
/* <state>/sessions/<id> with the disk cloned from base and session.json in it; not prepared. *config
 * is what to prepare it with. On failure nothing is left. session->agent, name and id are given. */
int session_clone(struct microagent_session *session, const struct base *base,
		  const struct microagent_session_spec *spec, struct make *make, json_t **config,
		  struct error *err);

/* Begins the audit log of a session that has been prepared and is not yet known to anybody else. */
int session_audit_begin(const struct microagent_session *session, const struct base *base,
			const struct workspace *ws, struct error *err);

/* ---- share.c ---------------------------------------------------------------------------------- */

/* The spec's shared directory, or the spare port for a later one, is put into the config. */
int session_share_put(json_t *config, const struct microagent_session_spec *spec,
		      struct error *err);
/* What the config shares is put into session.json. */
int session_share_record(json_t *record, const json_t *config, struct error *err);
/* {path, mountpoint, mode}, what people are told of a share; a new reference. */
json_t *session_share_told(const json_t *share);

/* A session's record in its directory; ERR_NOT_FOUND without one. */
json_t *session_record_read(const struct workspace *ws, struct error *err);

#endif
