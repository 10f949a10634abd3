/* SPDX-License-Identifier: MIT */
/*
 * A point of a session. A point is the session's machine, saved while it ran. For users, a point
 * that is kept is called a snapshot. Other machines go on from a point, as a session goes on from a
 * template. The directory <session>/points/NAME has these files:
 *
 *   template.json  what the machine depends on, with digests (schema/template.json)
 *   state          the machine's memory and devices
 *   disk.qcow2     the machine's disk at that moment: a layer over the base's disk
 *   bundle-*       the files of reviewed directories (store/review_files.h), of a point that is kept
 *
 * A point is made under a temporary name, and renamed when it is complete. A point that is made
 * only for the sessions of a fork keeps its temporary name, and is removed when these sessions are
 * made.
 *
 * The directory of a point has a lock. A process that makes or removes the point holds the lock
 * exclusively, and processes that read the point share it. The kernel releases the lock when the
 * process exits. So a point with a temporary name and without a lock is unfinished for ever, and is
 * removed.
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
	int points;		       /* descriptor of the directory of all points of the
				        * session */
	int fd;			       /* descriptor of the directory of this point */
	char name[POINT_NAME_MAX + 1]; /* the name of this point in the directory `points` */
	char *path;		       /* absolute */
	json_t *record;
	bool made; /* this process has made the point; point_close() then removes the point if it
		    * has no final name */
};
#define POINT_NONE                     \
	{                              \
		.points = -1, .fd = -1 \
	}

/* --- point.c: the directories ---------------------------------------------------------------- */

int point_check_name(const char *word, struct error *err);
/* Makes an empty, unfinished point. Also removes the unfinished points of the session that no
 * living process makes. */
int point_begin(const struct workspace *ws, struct point *out, struct error *err);
/* Gives the point its final name. ERR_CONFLICT: a point with that name exists. */
int point_name(struct point *point, const struct workspace *ws, const char *name,
	       struct error *err);
/* Sets the error that the session already has a snapshot `name`. Returns -1. */
int point_is_there(const struct workspace *ws, const char *name, struct error *err);
enum point_use { POINT_WHOLE, POINT_ANY };
/* Opens a point by its name. ERR_NOT_FOUND: the session has no such point. ERR_CONFLICT: the point
 * is being removed. ERR_IO: the point is damaged. POINT_ANY opens a damaged point too. */
int point_open(const struct workspace *ws, const char *name, enum point_use use, struct point *out,
	       struct error *err);
/* Removes a point. ERR_CONFLICT: another process reads the point. */
int point_remove(struct point *point, struct error *err);
void point_close(struct point *point); /* accepts POINT_NONE */
#define auto_point __attribute__((cleanup(point_close)))
/* Returns the sorted names of the complete points. The caller releases the array. */
json_t *point_names(const struct workspace *ws, struct error *err);
/* Removes the unfinished points that no living process makes, in all sessions. Appends the text
 * SESSION/FILE to `removed` for each of them. */
void points_sweep(const struct microagent *agent, json_t *removed);

/* --- point_save.c: the contents of a point --------------------------------------------------- */

/* Saves a running machine in the point, and pauses the machine for a moment. If `kept` is set,
 * computes the digest of the saved state (which takes long), and syncs the point to the disk. Sets
 * *told to {"stateBytes","diskBytes","pauseMs"}, which the caller releases. */
int point_save(struct point *point, const struct microagent_session *session,
	       const struct workspace *ws, bool kept, json_t **told, struct error *err);
/* Checks that the files of a kept point have the recorded digests. */
int point_verify(const struct point *point, struct error *err);
/* Returns the description of the reviewed directories whose disks the saved machine has
 * (reviews_describe()). The result belongs to the point; NULL: there are none. */
const json_t *point_reviews(const struct point *point);
/* Copies the disk of the point to the file `name` in the directory `dir`. If a digest of the disk
 * is remembered (store/digests.h), it is remembered for the copy too. */
int point_copy_disk(const struct point *point, int dir, const char *name, struct error *err);
/* Returns how many bytes of the host's disk the disks of all points use. */
int64_t points_bytes(const struct workspace *ws);

/* --- point_boot.c: machines from points ------------------------------------------------------ */

/* Starts the session's machine from the point. If the point does not fit this host or the session's
 * config any more, the machine boots instead of being restored. Sets *boot to {"how","why"?}, as in
 * runtime.json. The caller releases *boot. */
int point_boot(struct microagent_session *session, const struct point *point, json_t **boot,
	       struct error *err);
/* Writes a line to the session's audit log and to the security log. If the session has a live
 * supervisor, the supervisor writes the line. Otherwise this process takes the command lock and
 * writes the line itself. The arguments are those of audit_told_line(). */
int point_note(const struct workspace *ws, const char *what, const char *name, json_t *more,
	       struct error *err);
/* Does what point_note() does, for a session without any living process. The caller has the command
 * lock. */
int point_note_at_rest(const struct workspace *ws, const char *what, const char *name, json_t *more,
		       struct error *err);

/* --- on_fork.c: the command of a fork -------------------------------------------------------- */

/* Checks the command of a fork, which is run in each new session. If `command` is NULL, the fork
 * has no command. ERR_INVALID: the command has no words, wants a terminal or wants to be resumed,
 * or its time limit is too long. */
int on_fork_check(const struct microagent_exec *command, struct error *err);
/* Runs the command in `child`, a new session of a fork. Writes the result to the audit log of
 * `child`. `parent` is the name of the forked session. Fails if the command does not end with
 * status 0, or not within its time limit (60 s if it has none). `cancel` is a descriptor, or 0.
 * When `cancel` becomes readable, the command is cancelled. */
int on_fork_run(struct microagent_session *child, const char *parent,
		const struct microagent_exec *command, int cancel, struct error *err);

#endif
