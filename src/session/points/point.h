/* SPDX-License-Identifier: MIT */
/*
 * A point of a session, which users know as a snapshot: the session's machine, saved while it ran.
 * Other machines go on from a point, as a session goes on from a template. <session>/points/NAME
 * has these files:
 *
 *   template.json  what the machine depends on, with digests (schema/template.json)
 *   state          the machine's memory and devices
 *   disk.qcow2     the machine's disk of that moment: a layer over the base's disk
 *
 * A point is made under a temporary name, with a lock that ends with its maker, and renamed when it
 * is whole. A point that is made only for the sessions of a fork keeps the temporary name, and is
 * removed once these sessions are made.
 *
 * The directory of a point has a lock. The maker and the remover hold it exclusively, and readers
 * share it.
 */
#ifndef SESSION_POINT_H
#define SESSION_POINT_H

#include <stdbool.h>

#include "session/sessions/session.h"

#define POINTS_DIR "points"
#define POINT_RECORD "template.json"
#define POINT_STATE "state"
#define POINT_DISK "disk.qcow2"
#define POINT_NAME_MAX 32

struct point {
	int points;		       /* the directory of all points of the session */
	int fd;			       /* the directory of this point */
	char name[POINT_NAME_MAX + 1]; /* the name of this point in the directory `points` */
	char *path;		       /* absolute */
	json_t *record;
	bool made; /* this process has made the point, and removes it unless it gets a name */
};
#define POINT_NONE                     \
	{                              \
		.points = -1, .fd = -1 \
	}

/* --- point.c: the directories ---------------------------------------------------------------- */

int point_check_name(const char *word, struct error *err);
/* Begins an empty point in the making. Also removes unfinished points whose makers have ended. */
int point_begin(const struct workspace *ws, struct point *out, struct error *err);
/* Gives the point its name. ERR_CONFLICT: a point of that name exists. */
int point_name(struct point *point, const struct workspace *ws, const char *name,
	       struct error *err);
/* Sets the error which says that the session has a snapshot `name` already. Returns -1. */
int point_is_there(const struct workspace *ws, const char *name, struct error *err);
enum point_use { POINT_WHOLE, POINT_ANY };
/* Opens a point by its name. ERR_NOT_FOUND: there is no such point. ERR_CONFLICT: the point is
 * being removed. ERR_IO: the point is damaged; with POINT_ANY this is no error. */
int point_open(const struct workspace *ws, const char *name, enum point_use use, struct point *out,
	       struct error *err);
/* Removes a point. ERR_CONFLICT: another process reads it. */
int point_remove(struct point *point, struct error *err);
void point_close(struct point *point); /* accepts POINT_NONE */
#define auto_point __attribute__((cleanup(point_close)))
/* Returns the sorted names of the points that are whole. */
json_t *point_names(const struct workspace *ws, struct error *err);
/* Removes, in all sessions, the unfinished points whose makers have ended. Appends SESSION/FILE to
 * `removed` for each removed point. */
void points_sweep(const struct microagent *agent, json_t *removed);

/* --- point_save.c: what is in them ----------------------------------------------------------- */

/* Saves a running machine in the point. The machine is paused for a moment. If `kept` is set, the
 * digests are computed, and the point is on the disk when the function returns. *told is
 * {"stateBytes","diskBytes","pauseMs"}, which the caller releases. */
int point_save(struct point *point, const struct microagent_session *session,
	       const struct workspace *ws, bool kept, json_t **told, struct error *err);
/* Checks that the files of a kept point have the digests that were recorded. */
int point_verify(const struct point *point, struct error *err);
/* Copies the disk of the point to dir/name. If the digest of the disk is remembered, the digest of
 * the copy is remembered too. */
int point_copy_disk(const struct point *point, int dir, const char *name, struct error *err);
/* Returns the bytes of the host's disk that the disks of all points use. */
int64_t points_bytes(const struct workspace *ws);

/* --- point_boot.c: machines from points ------------------------------------------------------ */

/* Starts the session's machine from the point. If the point does not fit this host or the session's
 * config any more, the machine is not restored but boots. *boot (`boot` may be NULL) is
 * {"how","why"?}, as in runtime.json. */
int point_boot(struct microagent_session *session, const struct point *point, json_t **boot,
	       struct error *err);
/* Writes a line to the session's audit log and to the security log. If the session has a live
 * supervisor, the live supervisor writes the line. Otherwise this process takes the command lock
 * and writes the line. The arguments are as for audit_told_line(). */
int point_note(const struct workspace *ws, const char *what, const char *name, json_t *more,
	       struct error *err);
/* Writes a line like point_note(), for a session without any living process. The caller has the
 * command lock. */
int point_note_at_rest(const struct workspace *ws, const char *what, const char *name, json_t *more,
		       struct error *err);

/* --- on_fork.c: the command of a fork -------------------------------------------------------- */

/* Checks the command of a fork, which is run in each new session. NULL is allowed: no command.
 * ERR_INVALID: the command has no words, wants a terminal or to be resumed, or has too long a time
 * limit. */
int on_fork_check(const struct microagent_exec *command, struct error *err);
/* Runs the command in `child`, a new session of a fork, and writes the result to the audit log of
 * `child`. `parent` is the name of the session that was forked. Fails if the command does not end
 * with 0, or not within its time limit (60 s if it has none). `cancel` is a descriptor: when it
 * becomes readable, the command is ended; 0: none. */
int on_fork_run(struct microagent_session *child, const char *parent,
		const struct microagent_exec *command, int cancel, struct error *err);

#endif
