/* SPDX-License-Identifier: MIT */
/* Functions that the files of libmicroagent about sessions share. */
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
/* The file of a session's disk, by the way in which it is cloned: SESSION_RAW for "reflink" and
 * "copy", SESSION_LAYER for "overlay". */
#define SESSION_RAW "rootfs.ext4"
#define SESSION_LAYER "rootfs.qcow2"
/* The member "guest" of a session's record if the guest is macOS. The disk of such a session is
 * that of contract/macos.h. The record of a Linux session has no "guest". */
#define SESSION_MACOS "macos"
/* "session-2026-05-10T14-22-00Z-a7f3" and NUL. */
#define SESSION_NAME_ROOM 40
#define SESSION_ID_ROOM (SESSION_NAME_ROOM + 8)

struct microagent_session {
	struct microagent *agent; /* the handle of <state>/sessions; this session owns it */
	char name[SESSION_NAME_ROOM];
	char id[SESSION_ID_ROOM];    /* the runtimeID: the name with .bundle */
	json_t *record;		     /* session.json; not changed once the user has the session */
	_Atomic int64_t quota_bytes; /* the recorded quota of the disk; 0: none */
	/* How long this handle took to clone and to claim the session; 0: the handle did not clone
	 * or claim it. */
	double clone_ms, claim_ms;
	/* How long this handle took to boot the session; 0: the handle has not booted it. Another
	 * thread may boot the session at the same time. */
	_Atomic double boot_ms;
	/* The session ends with this handle, also while it is being made. */
	bool owned;
	/* The near end of the session's lifeline, while the session is being made or is owned: the
	 * session ends when this end is closed; -1: none. */
	int lifeline;
	/* The descriptor of the mark that the session is unfinished (api/unfinished.c); -1: this
	 * process has no such mark. */
	int mark;
	/* Only one thread at a time may use agent: a thread that boots, destroys or connects holds
	 * this lock. */
	pthread_mutex_t life;
	struct microagent_guest *guest; /* NULL: not connected yet */
};

/* --- handle.c -------------------------------------------------------------------------------- */

/* Returns the handle of <state>/sessions, which need not exist. */
struct microagent *sessions_agent(const struct microagent *agent, struct error *err);
/* Returns <state> for a handle of <state>/sessions. The caller frees the path. */
char *state_of_sessions(const struct microagent *sessions, struct error *err);
/* Returns a handle of <state>, of the same kind as the handle of <state>/sessions. */
struct microagent *state_agent(const struct microagent *sessions, struct error *err);

/* Makes a session's handle without a record. */
struct microagent_session *session_handle(const struct microagent *agent, const char *name,
					  struct error *err);
void session_set_name(struct microagent_session *session, const char *name);
/* Makes requests to the session's supervisor end when the descriptor `fd` becomes readable; 0 or
 * less: none. */
void session_cancel_by(struct microagent_session *session, int fd);
void session_close(struct microagent_session **session);
#define auto_session __attribute__((cleanup(session_close)))
int session_read_record(struct microagent_session *session, struct error *err);
/* Returns whether the session is owned and has no machine yet whose lifeline this process could
 * hold. */
bool session_waits_owned(const struct microagent_session *session);
/* Ends the making of the session. From here on the session goes on when this process ends, unless
 * it is owned. */
void session_made(struct microagent_session *session);

/* --- session.c ------------------------------------------------------------------------------- */

/* The sources of a session, by their names in session.json. */
#define SESSION_NEW "new"
#define SESSION_POOL "pool"
#define SESSION_FORK "fork"
/* Calls `fn` with random names until `fn` has made the session. `fn` fails with ERR_CONFLICT and
 * the errno EEXIST if a session of that name exists. */
typedef int session_named_fn(struct microagent_session *session, void *data, struct error *err);
int session_draw_name(struct microagent_session *session, session_named_fn *fn, void *data,
		      struct error *err);
/* Clones and prepares a session. The session is marked as unfinished until session_made(): if this
 * process dies before, the next sweep removes the session, whatever its state is. If the function
 * fails, nothing is left. */
int session_make(const struct microagent *agent, const struct base *base,
		 const struct microagent_session_spec *spec, const char *source,
		 struct microagent_session **out, struct error *err);
/* Makes a session like session_make(), and boots it. */
int session_make_booted(const struct microagent *agent, const struct base *base,
			const struct microagent_session_spec *spec, const char *source,
			struct microagent_session **out, struct error *err);
/* Destroys a session that could not be made. `err` says why it was not made. If the session is in
 * quarantine meanwhile, it is kept, and `err` says this too. If the session cannot be destroyed for
 * a reason other than quarantine, it stays marked, and the next sweep removes it. */
void session_unmake(struct microagent_session *session, struct error *err);

/* Opens the spec's base and calls `fn` to make a session of the base. */
typedef int session_maker(struct microagent *agent, const struct base *base,
			  const struct microagent_session_spec *spec,
			  struct microagent_session **out, struct error *err);
int session_make_with(struct microagent *agent, const struct microagent_session_spec *spec,
		      session_maker *fn, struct microagent_session **out, struct error *err);

/* The value is the text of lists and errors about a session whose maker was killed. */
#define SESSION_UNFINISHED "unfinished: the command that made it was killed"

/* --- destroy.c ------------------------------------------------------------------------------- */

/* Destroys a session, even if the session has no record. Returns 0, or -1 with an error, or 1 if
 * another process is destroying the session now. That process may fail, so the caller keeps what it
 * knows about the session (for example its token) until the session is gone. */
int session_remove(struct microagent_session *session, struct error *err);
/* Destroys a session for a caller that already holds the mark of the session's end. Returns like
 * session_remove(). */
int session_end_marked(struct microagent_session *session, struct error *err);
/* Writes the name of the mark which says that the session `name` is being destroyed.
 * unfinished_mark() takes this name. */
#define SESSION_MARK_ROOM (SESSION_ID_ROOM + 8)
void session_ending_mark(const char *name, char out[SESSION_MARK_ROOM]);
/* Writes the id of the session to which the mark of a destruction belongs. Returns false if `mark`
 * is no mark of a destruction. */
bool session_ending_id(const char *mark, char id[SESSION_ID_ROOM]);

/* --- sweep.c --------------------------------------------------------------------------------- */

/* Removes sessions whose makers died before they were finished, and sessions whose destruction was
 * interrupted. Appends {"name","why"} of each to `removed`, or to `left` if the session cannot be
 * removed; both may be NULL. Takes almost no time if there is no such session. */
void sessions_sweep(const struct microagent *agent, json_t *removed, json_t *left);

/* --- naming.c -------------------------------------------------------------------------------- */

/* Makes a name from the present time, in UTC, with four random hexadecimal digits. */
int session_name_new(char out[SESSION_NAME_ROOM], struct error *err);
/* Parses the name of a session. The name may end with ".bundle". ERR_INVALID: no session can have
 * that name. */
int session_name_parse(const char *word, char out[SESSION_NAME_ROOM], struct error *err);
/* Parses the name of a machine that has an audit log: a session, or the machine of a container of
 * microagent-oci. */
int session_audited_parse(const char *word, char out[SESSION_NAME_ROOM], struct error *err);

/* Writes the session's name for the id of a directory. Returns false if the id is no session's. */
bool session_name_of_id(const char *id, char out[SESSION_NAME_ROOM]);

/* --- record.c -------------------------------------------------------------------------------- */

/* Returns the file of the session's disk if the disk is no layer. */
const char *session_disk(const json_t *record);
/* Replaces the member "share" of a record by "shares". Earlier versions wrote "share", with one
 * directory, into session.json and runtime.json. */
void session_shares_of_before(json_t *record);
/* Settles on the session's record (store/record_digest.h): from here on only the present record is
 * accepted. A record of an earlier version has no digest yet, and is accepted as it is. */
int session_record_settle(const struct microagent_session *session, struct error *err);
/* Reads a session's record from its directory. The caller releases it. ERR_NOT_FOUND: there is no
 * record. ERR_IO: the record is damaged, or no command has recorded this value. */
json_t *session_record_read(const struct workspace *ws, struct error *err);

/* --- clone.c --------------------------------------------------------------------------------- */

/* Makes <state>/sessions/<id> with session.json and the disk, which is cloned from the base, but
 * does not prepare the session. *config is the config with which the caller prepares it, and
 * releases. If the function fails, nothing is left. The caller has set session->agent, name and
 * id. */
int session_clone(struct microagent_session *session, const struct base *base,
		  const struct microagent_session_spec *spec, const char *source,
		  struct creation *made, json_t **config, struct error *err);

/* Begins the audit log of a session that was prepared and that no other process knows yet. */
int session_audit_begin(const struct microagent_session *session, const struct base *base,
			const struct workspace *ws, struct error *err);

/* --- restoring.c ----------------------------------------------------------------------------- */

/* How a session begins. `template` is the digest of the record of the base's template, if the
 * session is restored from this template. `cold` is the reason if the base has a template that the
 * session cannot use. */
struct origin {
	char template[DIGEST_TEXT], cold[256];
};
/* Finds the template for a session whose quota is known. Returns a descriptor of the template's
 * disk, of which the session's disk must be a copy; -1 if the session must boot. */
int session_find_template(const struct microagent_session *session, const struct base *base,
			  const struct microagent_session_spec *spec, struct origin *out);
/* Puts "template" or "cold" into a session.json. */
int session_put_origin(const struct origin *origin, json_t *record, struct error *err);
/* Starts a session like microagent_start(), but from its template if it has one. */
int session_start(struct microagent_session *session, struct error *err);
/* Starts a session like session_start(), with a few options for the supervisor. A NULL ends the
 * options. A session that is unfinished or owned gets a new lifeline, which replaces the present
 * one. */
int session_start_with(struct microagent_session *session, const char *const *options,
		       struct error *err);
/* Puts "boot" into `entry`, which says whether the session's machine was booted or restored when it
 * last began. Does nothing if this is not known. */
int session_boot_told(const struct workspace *ws, json_t *entry, struct error *err);

/* --- quota.c --------------------------------------------------------------------------------- */

/* Computes the quota of a session of the base. ERR_INVALID: no disk can have the quota in the
 * spec. */
int session_quota_of(const struct base *base, const struct microagent_session_spec *spec,
		     int64_t *bytes, struct error *err);
/* Puts "quotaBytes" and "grownBytes" of an existing session into `entry`, each only if it is
 * known. */
int session_quota_told(const struct workspace *ws, const json_t *record, json_t *entry,
		       struct error *err);

/* --- share.c --------------------------------------------------------------------------------- */

/* Returns whether the spec names a directory to share. */
bool session_has_share(const struct microagent_session_spec *spec);
/* Returns the spec's shared directories in the form of config.shares. The caller releases the
 * result. */
json_t *session_shares(const struct microagent_session_spec *spec, struct error *err);
/* Returns whether all of the spec's directories can be given to a machine that already runs. */
bool session_can_be_given(const struct microagent *agent,
			  const struct microagent_session_spec *spec);
/* Puts the spec's shared directories into the config. If there are none, hotplug asks for the spare
 * port by which a running machine can get shares. */
int session_share_put(json_t *config, const struct microagent_session_spec *spec, bool hotplug,
		      struct error *err);
/* Copies the shares of the config into session.json. `later`: the machine gets the shares when it
 * runs already, so they are removed from the config. */
int session_share_record(json_t *record, json_t *config, bool later, struct error *err);
/* Returns the shares in the form in which answers have them: [{path, mountpoint, mode, anyway?}].
 * The caller releases the result. */
json_t *session_shares_told(const json_t *shares);
/* Gives the spec's directories to a member of a pool, which was made without shares. They are
 * recorded as if the session had them from its beginning. */
int session_share_claimed(struct microagent_session *session,
			  const struct microagent_session_spec *spec, struct error *err);

/* --- term.c ---------------------------------------------------------------------------------- */

/* Returns whether the end of the session with that id has come, and no live supervisor lives that
 * would destroy it. `dir` is the directory of all sessions. `why` gets the text of term_text(). */
bool session_over_in(const struct state_dir *dir, const char *id, char why[TERM_TEXT]);
/* Returns the same as session_over_in(). If this session must be checked again before the time
 * *next, sets *next to that earlier time. */
bool session_over_by(const struct state_dir *dir, const char *id, char why[TERM_TEXT],
		     int64_t *next);
/* Destroys the session if session_over_in() is true for it, and fails with ERR_NOT_FOUND then. */
int session_refuse_over(const struct microagent *agent, struct microagent_session *session,
			const struct state_dir *dir, struct error *err);
/* Puts "detail" and "reason" into entry if the end of the session has come. */
int session_term_told(const struct state_dir *dir, const struct workspace *ws, json_t *entry,
		      struct error *err);
/* Gives a claimed member of a pool the lifetime and idle time that the spec asks for. */
int session_term_claimed(struct microagent_session *session,
			 const struct microagent_session_spec *spec, struct error *err);

/* --- ends.c ---------------------------------------------------------------------------------- */

/* Notes that a session was given an end. The session's record must have this end already. */
int session_ends_note(const struct state_dir *dir, const struct term *term, struct error *err);
/* Returns true if no session's end can have come yet, so that the sessions need not be checked. The
 * exception is a session whose supervisor was killed within the last SESSION_ENDS_MS. */
bool session_ends_later(const struct state_dir *dir);
/* Functions that begin and end a check of all sessions. Between the two calls no process can give a
 * session an end. session_ends_begin() returns a descriptor for session_ends_done(), or -1 if other
 * processes cannot be kept out. `next` is the time at which all sessions must be checked again. */
int session_ends_begin(const struct state_dir *dir);
void session_ends_done(int fd, int64_t next);

/* Makes a running session end when this process ends, until the session is released. */
int session_hold(struct microagent_session *session, struct error *err);

/* --- telemetry.c ----------------------------------------------------------------------------- */

/* Opens the session's telemetry.jsonl, in the session's directory or in the archive. *fd is -1 if
 * there is no such file. */
int session_telemetry_open(const struct microagent *agent, const char *name, int *fd,
			   struct error *err);

#endif
