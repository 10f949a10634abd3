/* SPDX-License-Identifier: MIT */
/* Declares what the files of libmicroagent about sessions share. */
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
/* The file names of a session's disk. The name depends on how the disk was cloned: SESSION_RAW for
 * "reflink" and "copy", SESSION_LAYER for "overlay". */
#define SESSION_RAW "rootfs.ext4"
#define SESSION_LAYER "rootfs.qcow2"
/* The value of "guest" in a session's record if the guest is macOS. contract/macos.h names the disk
 * of such a session. The record of a Linux session has no "guest". */
#define SESSION_MACOS "macos"
/* The size of a name like "session-2026-05-10T14-22-00Z-a7f3" with its NUL. */
#define SESSION_NAME_ROOM 40
#define SESSION_ID_ROOM (SESSION_NAME_ROOM + 8)

struct microagent_session {
	struct microagent *agent; /* handle of <state>/sessions, which this struct owns */
	char name[SESSION_NAME_ROOM];
	char id[SESSION_ID_ROOM];    /* the runtimeID, which is the name with ".bundle" */
	json_t *record;		     /* the contents of session.json; not changed any more once the
				      * user has the handle */
	_Atomic int64_t quota_bytes; /* the recorded quota of the disk in bytes; 0: no quota */
	/* The milliseconds that this handle took to clone and to claim the session; 0: the handle
	 * did not clone or claim it. */
	double clone_ms, claim_ms;
	/* The milliseconds that this handle took to boot the session; 0: the handle has not booted
	 * the session. One thread may set the number while another reads it. */
	_Atomic double boot_ms;
	/* True: the session is destroyed when this handle is closed, also if it is still being
	 * made. */
	bool owned;
	/* Descriptor of the end of the session's lifeline that this process holds, while the
	 * session is being made or is owned. The session ends when this descriptor is closed. -1:
	 * no lifeline. */
	int lifeline;
	/* Descriptor of the mark that the session is unfinished (api/unfinished.c); -1: this
	 * process has not marked the session. */
	int mark;
	/* Lock for `agent`, which only one thread at a time may use. A thread holds this lock while
	 * it boots, destroys or connects the session. */
	pthread_mutex_t life;
	struct microagent_guest *guest; /* connection to the guest; NULL: not connected yet */
};

/* --- handle.c -------------------------------------------------------------------------------- */

/* Returns a handle of <state>/sessions. This directory need not exist. */
struct microagent *sessions_agent(const struct microagent *agent, struct error *err);
/* Returns the path <state> for a handle of <state>/sessions. The caller frees the path. */
char *state_of_sessions(const struct microagent *sessions, struct error *err);
/* Returns a handle of <state> with the settings of the handle of <state>/sessions. */
struct microagent *state_agent(const struct microagent *sessions, struct error *err);

/* Makes the handle of a session without reading the session's record. */
struct microagent_session *session_handle(const struct microagent *agent, const char *name,
					  struct error *err);
void session_set_name(struct microagent_session *session, const char *name);
/* Sets a descriptor that cancels: when `fd` becomes readable, requests to the session's supervisor
 * are cancelled. If `fd` is 0 or less, nothing cancels them. */
void session_cancel_by(struct microagent_session *session, int fd);
void session_close(struct microagent_session **session);
#define auto_session __attribute__((cleanup(session_close)))
int session_read_record(struct microagent_session *session, struct error *err);
/* Returns true if the session is owned, but has no machine yet, so that this process has no
 * lifeline of it. */
bool session_waits_owned(const struct microagent_session *session);
/* Marks the session as complete. From now on, the session lives on when this process exits, unless
 * the session is owned. */
void session_made(struct microagent_session *session);

/* --- session.c ------------------------------------------------------------------------------- */

/* The values of "source" in session.json: how a session was made. */
#define SESSION_NEW "new"
#define SESSION_POOL "pool"
#define SESSION_FORK "fork"
/* Calls `fn` with random names until `fn` has made the session. If a session with the name exists,
 * `fn` must fail with ERR_CONFLICT and the errno EEXIST. */
typedef int session_named_fn(struct microagent_session *session, void *data, struct error *err);
int session_draw_name(struct microagent_session *session, session_named_fn *fn, void *data,
		      struct error *err);
/* Clones and prepares a session. The session is marked as unfinished until session_made(). If this
 * process dies before that call, the next sweep removes the session, whatever its state is. On
 * failure, nothing is left of the session. */
int session_make(const struct microagent *agent, const struct base *base,
		 const struct microagent_session_spec *spec, const char *source,
		 struct microagent_session **out, struct error *err);
/* Makes a session as session_make() does, and boots it. */
int session_make_booted(const struct microagent *agent, const struct base *base,
			const struct microagent_session_spec *spec, const char *source,
			struct microagent_session **out, struct error *err);
/* Destroys a session whose making failed. `err` has the failure of the making. If the session was
 * put into quarantine meanwhile, keeps the session, and says so in `err`. If the session cannot be
 * destroyed for another reason, it stays marked, and the next sweep removes it. */
void session_unmake(struct microagent_session *session, struct error *err);

/* Makes a session of the open base `base`. */
typedef int session_maker(struct microagent *agent, const struct base *base,
			  const struct microagent_session_spec *spec,
			  struct microagent_session **out, struct error *err);
/* Opens the base that the spec names, and calls `fn` to make a session of this base. */
int session_make_with(struct microagent *agent, const struct microagent_session_spec *spec,
		      session_maker *fn, struct microagent_session **out, struct error *err);

/* The text for lists and errors about a session whose making was interrupted. */
#define SESSION_UNFINISHED "unfinished: the command that made it was killed"

/* --- destroy.c ------------------------------------------------------------------------------- */

/* Destroys a session, even if it has no record. Returns 0, 1 if another process is destroying the
 * session, or -1 with err set. After 1, the caller must keep its records of the session, for
 * example its token, until the session is gone, because the other process may fail. */
int session_remove(struct microagent_session *session, struct error *err);
/* Destroys a session for a caller that has already made and locked the mark of the destruction.
 * Returns the values of session_remove(). */
int session_end_marked(struct microagent_session *session, struct error *err);
/* Writes the name of the mark that says that the session `name` is being destroyed. The result is
 * an argument of unfinished_mark(). */
#define SESSION_MARK_ROOM (SESSION_ID_ROOM + 8)
void session_ending_mark(const char *name, char out[SESSION_MARK_ROOM]);
/* Writes the id of the session whose destruction the mark `mark` records. Returns false if `mark`
 * is not the mark of a destruction. */
bool session_ending_id(const char *mark, char id[SESSION_ID_ROOM]);

/* --- sweep.c --------------------------------------------------------------------------------- */

/* Removes sessions whose making or destruction was interrupted by the death of a process, and
 * sessions whose lifetime or idle time is over. Appends {"name","why"} about each to `removed`, or
 * to `left` if the session cannot be removed; both may be NULL. If there are no such sessions, this
 * takes almost no time. */
void sessions_sweep(const struct microagent *agent, json_t *removed, json_t *left);

/* --- naming.c -------------------------------------------------------------------------------- */

/* Makes a name from the current time in UTC and four random hexadecimal digits. */
int session_name_new(char out[SESSION_NAME_ROOM], struct error *err);
/* Parses the name of a session, which may end with ".bundle". ERR_INVALID: no session can have that
 * name. */
int session_name_parse(const char *word, char out[SESSION_NAME_ROOM], struct error *err);
/* Parses the name of a machine with an audit log: the name of a session, or of the machine of a
 * container of microagent-oci. */
int session_audited_parse(const char *word, char out[SESSION_NAME_ROOM], struct error *err);

/* Writes the name of the session whose directory has the id. Returns false if the id is not that of
 * a session. */
bool session_name_of_id(const char *id, char out[SESSION_NAME_ROOM]);

/* --- record.c -------------------------------------------------------------------------------- */

/* Returns the file name of the session's disk, which must not be a layer. */
const char *session_disk(const json_t *record);
/* Replaces the member "share" of a record by "shares". Earlier versions of microagent wrote "share"
 * to session.json and runtime.json; it describes only one directory. */
void session_shares_of_before(json_t *record);
/* Records the digest of the session's record, so that a record with other contents is refused from
 * now on (store/record_digest.h). A record of an earlier version of microagent, which has no digest
 * yet, is accepted as it is. */
int session_record_settle(const struct microagent_session *session, struct error *err);
/* Reads a session's record from its directory. The caller releases it. ERR_NOT_FOUND: the session
 * has no record. ERR_IO: the record is damaged, or its contents were not written by a command. */
json_t *session_record_read(const struct workspace *ws, struct error *err);

/* --- clone.c --------------------------------------------------------------------------------- */

/* Makes <state>/sessions/<id> with session.json and the disk, which is cloned from the base.
 * Afterwards the caller must prepare the session with the config in *config, and release *config.
 * On failure, no file is left. The caller has set session->agent, name and id. */
int session_clone(struct microagent_session *session, const struct base *base,
		  const struct microagent_session_spec *spec, const char *source,
		  struct creation *made, json_t **config, struct error *err);

/* Begins the audit log of a session. The session must be prepared, and no other process may know of
 * the session yet. */
int session_audit_begin(const struct microagent_session *session, const struct base *base,
			const struct workspace *ws, struct error *err);

/* --- restoring.c ----------------------------------------------------------------------------- */

/* How a session begins. `template` is the digest of the template's record if the session is
 * restored from its base's template; "" if the session boots. `cold` is the reason why the session
 * does not use the template of its base; "" if there is no such reason. */
struct origin {
	char template[DIGEST_TEXT], cold[256];
};
/* Finds the template for a session. session->quota_bytes must be set. Returns a descriptor of the
 * template's disk, which the caller closes. The session's disk must be a copy of this disk. Returns
 * -1 if the session must boot. */
int session_find_template(const struct microagent_session *session, const struct base *base,
			  const struct microagent_session_spec *spec, struct origin *out);
/* Puts the member "template" or "cold" into `record`, the contents of session.json. */
int session_put_origin(const struct origin *origin, json_t *record, struct error *err);
/* Starts a session as microagent_start() does, but restores it from its template if it has one. */
int session_start(struct microagent_session *session, struct error *err);
/* Starts a session as session_start() does, with additional options for the supervisor. The list of
 * options ends with NULL. A session that is unfinished or owned gets a new lifeline, which replaces
 * the old one. */
int session_start_with(struct microagent_session *session, const char *const *options,
		       struct error *err);
/* Puts "boot" into `entry`: whether the session's machine booted or was restored when it was last
 * started. Does nothing if this is unknown. */
int session_boot_told(const struct workspace *ws, json_t *entry, struct error *err);

/* --- quota.c --------------------------------------------------------------------------------- */

/* Computes the quota in bytes for a session of the base. ERR_INVALID: the quota in the spec is not
 * possible. */
int session_quota_of(const struct base *base, const struct microagent_session_spec *spec,
		     int64_t *bytes, struct error *err);
/* Puts "quotaBytes" and "grownBytes" of an existing session into `entry`. Leaves out a number that
 * is unknown. */
int session_quota_told(const struct workspace *ws, const json_t *record, json_t *entry,
		       struct error *err);

/* --- share.c --------------------------------------------------------------------------------- */

/* Returns true if the spec has at least one directory to share. Directories that are shared for a
 * review do not count: the guest gets an image of each of them, as a disk. */
bool session_has_share(const struct microagent_session_spec *spec);
/* Returns how many directories the spec shares for a review. */
size_t session_reviews(const struct microagent_session_spec *spec);
/* Returns the spec's shared directories in the form of config.shares. The caller releases the
 * result. */
json_t *session_shares(const struct microagent_session_spec *spec, struct error *err);
/* Returns true if all directories in the spec can be given to a machine that already runs. */
bool session_can_be_given(const struct microagent *agent,
			  const struct microagent_session_spec *spec);
/* Puts the spec's shared directories into the config. If the spec has no directories and `hotplug`
 * is true, the config gets a spare port, through which the running machine can be given shares. */
int session_share_put(json_t *config, const struct microagent_session_spec *spec, bool hotplug,
		      struct error *err);
/* Copies the shares in the config into session.json. If `later` is true, the machine gets the
 * shares after its start, so they are removed from the config. */
int session_share_record(json_t *record, json_t *config, bool later, struct error *err);
/* Returns the shares in the form that answers use: [{path, mountpoint, mode, anyway?}]. The caller
 * releases the result. */
json_t *session_shares_told(const json_t *shares);
/* Gives the directories in the spec to a claimed member of a pool, which was made without shares.
 * Records them as if the session had been made with them. */
int session_share_claimed(struct microagent_session *session,
			  const struct microagent_session_spec *spec, struct error *err);

/* --- term.c ---------------------------------------------------------------------------------- */

/* Returns true if the lifetime or idle time of the session `id` is over, and no live supervisor
 * will destroy the session. `dir` is the directory of all sessions. `why` gets the text of
 * term_text(). */
bool session_over_in(const struct state_dir *dir, const char *id, char why[TERM_TEXT]);
/* Does the same as session_over_in(). If the session must be checked again before the time *next,
 * also sets *next to this earlier time (real time in nanoseconds). */
bool session_over_by(const struct state_dir *dir, const char *id, char why[TERM_TEXT],
		     int64_t *next);
/* Does nothing and returns 0 if session_over_in() is false for the session. Otherwise destroys the
 * session and fails with ERR_NOT_FOUND. */
int session_refuse_over(const struct microagent *agent, struct microagent_session *session,
			const struct state_dir *dir, struct error *err);
/* If the session's lifetime or idle time is over, puts "detail" and "reason" about this into
 * `entry`. */
int session_term_told(const struct state_dir *dir, const struct workspace *ws, json_t *entry,
		      struct error *err);
/* Gives a claimed member of a pool the lifetime and idle time in the spec. */
int session_term_claimed(struct microagent_session *session,
			 const struct microagent_session_spec *spec, struct error *err);

/* --- ends.c ---------------------------------------------------------------------------------- */

/* Notes in the file of ends.c that a session was given a lifetime or an idle time. The session's
 * record must already have it. */
int session_ends_note(const struct state_dir *dir, const struct term *term, struct error *err);
/* Returns true if no session's lifetime or idle time can be over yet, so that the sessions need not
 * be checked. The result can be wrong for a session whose live supervisor was killed within the
 * last LIMIT_SESSION_ENDS_MS. */
bool session_ends_later(const struct state_dir *dir);
/* Begin and end a check of all sessions. Between the two calls, no other process can give a session
 * a lifetime or an idle time. session_ends_begin() returns a descriptor for session_ends_done(), or
 * -1 if the file cannot be locked. `next` is the time at which all sessions must be checked again
 * (real time in nanoseconds). */
int session_ends_begin(const struct state_dir *dir);
void session_ends_done(int fd, int64_t next);

/* Opens a lifeline of a running session, so that the session's machine ends when this process
 * exits. The lifeline is released by session_made(). */
int session_hold(struct microagent_session *session, struct error *err);

/* --- telemetry.c ----------------------------------------------------------------------------- */

/* Opens the file telemetry.jsonl of a session, in the session's directory or in its archive. Sets
 * *fd to its descriptor, which the caller closes, or to -1 if the file does not exist. */
int session_telemetry_open(const struct microagent *agent, const char *name, int *fd,
			   struct error *err);

#endif
