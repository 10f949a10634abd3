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
#include "session/bases/base.h"
#include "session/bases/place.h"
#include "session/templates/template.h"
#include "store/term.h"

#define SESSION_RECORD "session.json"
/* Its disk, by the way in which it is cloned: "reflink" and "copy", or "overlay". */
#define SESSION_RAW "rootfs.ext4"
#define SESSION_LAYER "rootfs.qcow2"
/* "guest" of its record, and its disk is that of contract/macos.h; absent: a Linux. */
#define SESSION_MACOS "macos"
/* "session-2026-05-10T14-22-00Z-a7f3" and NUL. */
#define SESSION_NAME_ROOM 40
#define SESSION_ID_ROOM (SESSION_NAME_ROOM + 8)

struct microagent_session {
	struct microagent *agent; /* of <state>/sessions; our own */
	char name[SESSION_NAME_ROOM];
	char id[SESSION_ID_ROOM];    /* the name with .bundle: the runtimeID */
	json_t *record;		     /* session.json; fixed once handed out */
	_Atomic int64_t quota_bytes; /* of its disk, as recorded; 0: none */
	double clone_ms, claim_ms;   /* of this handle; 0: not done by it */
	_Atomic double boot_ms;	     /* the same; told while another thread boots */
	bool owned;		     /* it ends with this handle, also when it is made */
	int lifeline;		     /* with which it ends while it is made or owned; -1: none */
	int mark;		     /* that it is in the making; -1: it is not, or not by us */
	/* agent is used by one thread at a time: who boots, destroys or connects holds it. */
	pthread_mutex_t life;
	struct microagent_guest *guest; /* NULL: not connected yet */
};

/* --- handle.c -------------------------------------------------------------------------------- */

/* The handle of <state>/sessions, which need not exist. */
struct microagent *sessions_agent(const struct microagent *agent, struct error *err);
/* The other way: <state> of such a handle; malloc'd. */
char *state_of_sessions(const struct microagent *sessions, struct error *err);
/* And a handle of that, of the same kind. */
struct microagent *state_agent(const struct microagent *sessions, struct error *err);

/* A handle without a record. */
struct microagent_session *session_handle(const struct microagent *agent, const char *name,
					  struct error *err);
void session_set_name(struct microagent_session *session, const char *name);
/* What its supervisor is asked is given up when fd can be read; 0 and below: never. */
void session_cancel_by(struct microagent_session *session, int fd);
void session_close(struct microagent_session **session);
#define auto_session __attribute__((cleanup(session_close)))
int session_read_record(struct microagent_session *session, struct error *err);
/* It is owned and has no machine yet whose lifeline this process could hold. */
bool session_waits_owned(const struct microagent_session *session);
/* It is not in the making any more, and goes on without us unless it is owned. */
void session_made(struct microagent_session *session);

/* --- session.c ------------------------------------------------------------------------------- */

/* Where it came from, as session.json says it. */
#define SESSION_NEW "new"
#define SESSION_POOL "pool"
#define SESSION_FORK "fork"
/* Draws names until fn, which fails with ERR_CONFLICT and EEXIST where there is one of the name,
 * has made the session. */
typedef int session_named_fn(struct microagent_session *session, void *data, struct error *err);
int session_draw_name(struct microagent_session *session, session_named_fn *fn, void *data,
		      struct error *err);
/* Cloned and prepared; marked as in the making until session_made(): if we die before, the next
 * sweep removes it, whatever it has become by then. On failure nothing is left. */
int session_make(const struct microagent *agent, const struct base *base,
		 const struct microagent_session_spec *spec, const char *source,
		 struct microagent_session **out, struct error *err);
/* With its boot. */
int session_make_booted(const struct microagent *agent, const struct base *base,
			const struct microagent_session_spec *spec, const char *source,
			struct microagent_session **out, struct error *err);
/* Destroys it instead; err says why it was not made. What is in quarantine by now stays, as a session
 * like any other, and err says that too. If the end fails otherwise it stays marked, for the next sweep. */
void session_unmake(struct microagent_session *session, struct error *err);

/* A session of the spec's base, opened meanwhile, by fn: session_make() or another. */
typedef int session_maker(struct microagent *agent, const struct base *base,
			  const struct microagent_session_spec *spec,
			  struct microagent_session **out, struct error *err);
int session_make_with(struct microagent *agent, const struct microagent_session_spec *spec,
		      session_maker *fn, struct microagent_session **out, struct error *err);

/* What is said of one whose maker was killed. */
#define SESSION_UNFINISHED "unfinished: its maker was killed"

/* --- destroy.c ------------------------------------------------------------------------------- */

/* What destroying it does, for one that may have been recorded or not. 1: somebody else is at it
 * just now, and may fail: what tells of it is kept until it is gone. */
int session_remove(struct microagent_session *session, struct error *err);
/* The same for a caller that holds the mark of its ending already. 1: another process empties the
 * rest of it. */
int session_end_marked(struct microagent_session *session, struct error *err);
/* The mark, for unfinished_mark(), that stands for the ending of the session of that name. */
#define SESSION_MARK_ROOM (SESSION_ID_ROOM + 8)
void session_ending_mark(const char *name, char out[SESSION_MARK_ROOM]);
/* The id of the session whose ending the mark stands for, or false. */
bool session_ending_id(const char *mark, char id[SESSION_ID_ROOM]);

/* --- sweep.c --------------------------------------------------------------------------------- */

/* Removes what was in the making when its maker died, and what was being destroyed. For each
 * {"name","why"} is appended to removed, or to left where it cannot be removed; both may be NULL.
 * Costs nothing where there is nothing. */
void sessions_sweep(const struct microagent *agent, json_t *removed, json_t *left);

/* --- naming.c -------------------------------------------------------------------------------- */

/* Of now, in UTC, with four random hexadecimal digits. */
int session_name_new(char out[SESSION_NAME_ROOM], struct error *err);
/* ERR_INVALID for what no session can be called; a name with ".bundle" behind it is taken too. */
int session_name_parse(const char *word, char out[SESSION_NAME_ROOM], struct error *err);
/* The same for what has an audit log: also the machine of a container of microagent-oci. */
int session_audited_parse(const char *word, char out[SESSION_NAME_ROOM], struct error *err);

/* The name of a session's directory, or false. */
bool session_name_of_id(const char *id, char out[SESSION_NAME_ROOM]);

/* --- record.c -------------------------------------------------------------------------------- */

/* The file of its disk where that is no layer. */
const char *session_disk(const json_t *record);
/* Earlier versions wrote "share", of one directory, into session.json and runtime.json: makes it
 * "shares". */
void session_shares_of_before(json_t *record);
/* The record of an earlier version has no digest yet (store/record_digest.h), and is accepted as it
 * is. From here on no other is. */
int session_record_settle(const struct microagent_session *session, struct error *err);
/* A session's record in its directory; ERR_NOT_FOUND without one. ERR_IO: it is damaged, or no
 * command has recorded that. */
json_t *session_record_read(const struct workspace *ws, struct error *err);

/* --- clone.c --------------------------------------------------------------------------------- */

/* <state>/sessions/<id> with the disk cloned from base and session.json in it; not prepared.
 * *config is what to prepare it with. On failure nothing is left. session->agent, name and id are
 * given. */
int session_clone(struct microagent_session *session, const struct base *base,
		  const struct microagent_session_spec *spec, const char *source,
		  struct creation *made, json_t **config, struct error *err);

/* Begins the audit log of a session that has been prepared and is not yet known to anybody else. */
int session_audit_begin(const struct microagent_session *session, const struct base *base,
			const struct workspace *ws, struct error *err);

/* --- restoring.c ----------------------------------------------------------------------------- */

/* From what a session begins: its base's template, by the digest of that one's record; or, where
 * the base has one that is not for it, why not. */
struct origin {
	char template[DIGEST_TEXT], cold[256];
};
/* A descriptor of the template's disk, which is its disk's beginning; -1: it is to boot. Its quota
 * is known. */
int session_find_template(const struct microagent_session *session, const struct base *base,
			  const struct microagent_session_spec *spec, struct origin *out);
/* "template" or "cold" of session.json. */
int session_put_origin(const struct origin *origin, json_t *record, struct error *err);
/* microagent_start(), from its template where it has one. */
int session_start(struct microagent_session *session, struct error *err);
/* The same with those options, up to NULL, of which there are few; of a session that is in the
 * making or owned with a lifeline, which replaces the one before. */
int session_start_with(struct microagent_session *session, const char *const *options,
		       struct error *err);
/* "boot": how its machine began when that ran last, where that is known. */
int session_boot_told(const struct workspace *ws, json_t *entry, struct error *err);

/* --- quota.c --------------------------------------------------------------------------------- */

/* What a session of the base gets. ERR_INVALID for what no disk can have. */
int session_quota_of(const struct base *base, const struct microagent_session_spec *spec,
		     int64_t *bytes, struct error *err);
/* "quotaBytes" and "grownBytes" of a session that is there, as far as they are known. */
int session_quota_told(const struct workspace *ws, const json_t *record, json_t *entry,
		       struct error *err);

/* --- share.c --------------------------------------------------------------------------------- */

/* Whether the spec names a directory. */
bool session_has_share(const struct microagent_session_spec *spec);
/* The spec's shared directories, as a config has them; a new reference. */
json_t *session_shares(const struct microagent_session_spec *spec, struct error *err);
/* Whether a machine that runs already can be given all of them. */
bool session_can_be_given(const struct microagent *agent,
			  const struct microagent_session_spec *spec);
/* The spec's shared directories, or the spare port for later ones, are put into the config. */
int session_share_put(json_t *config, const struct microagent_session_spec *spec, bool hotplug,
		      struct error *err);
/* What the config shares is put into session.json. later: the machine is given it when it runs, and
 * the config has it no more. */
int session_share_record(json_t *record, json_t *config, bool later, struct error *err);
/* [{path, mountpoint, mode, anyway?}], what people are told of shares; a new reference. */
json_t *session_shares_told(const json_t *shares);
/* The spec's directories are given to a member of a pool, which was made without any, and recorded
 * as its own from the start. */
int session_share_claimed(struct microagent_session *session,
			  const struct microagent_session_spec *spec, struct error *err);

/* --- term.c ---------------------------------------------------------------------------------- */

/* Whether the session of that id, in the directory of all of them, has come to the end that it was
 * given, and nothing of it lives that would destroy it; why: of term_text(). */
bool session_over_in(const struct state_dir *dir, const char *id, char why[TERM_TEXT]);
/* The same; *next, if that is sooner, becomes when it is to be looked at again. */
bool session_over_by(const struct state_dir *dir, const char *id, char why[TERM_TEXT],
		     int64_t *next);
/* Destroys one for which that is so: ERR_NOT_FOUND. */
int session_refuse_over(const struct microagent *agent, struct microagent_session *session,
			const struct state_dir *dir, struct error *err);
/* "detail" and "reason" of one that is over. */
int session_term_told(const struct state_dir *dir, const struct workspace *ws, json_t *entry,
		      struct error *err);
/* What the spec says is given to a member of a pool. */
int session_term_claimed(struct microagent_session *session,
			 const struct microagent_session_spec *spec, struct error *err);

/* --- ends.c ---------------------------------------------------------------------------------- */

/* A session was given that end, and has it recorded. */
int session_ends_note(const struct state_dir *dir, const struct term *term, struct error *err);
/* None of them can be over by now, but one whose supervisor was killed within SESSION_ENDS_MS. */
bool session_ends_later(const struct state_dir *dir);
/* Around a look at all of them: none is given an end meanwhile. -1: that cannot be kept off. next:
 * when they are to be looked at again. */
int session_ends_begin(const struct state_dir *dir);
void session_ends_done(int fd, int64_t next);

/* A session that runs ends with this process from now on, until it is let go. */
int session_hold(struct microagent_session *session, struct error *err);

/* --- telemetry.c ----------------------------------------------------------------------------- */

/* *fd: of the session's telemetry.jsonl, where it is or in the archive; -1: it has none. */
int session_telemetry_open(const struct microagent *agent, const char *name, int *fd,
			   struct error *err);

#endif
