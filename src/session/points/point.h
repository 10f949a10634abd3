/* SPDX-License-Identifier: MIT */
/*
 * A point of a session: the session's machine, saved while it ran. Other machines go on from a
 * point as a session goes on from a template. <session>/points/NAME has these files:
 *
 *   template.json  what the machine depends on, with digests (schema/template.json)
 *   state          its memory and devices
 *   disk.qcow2     its disk of that moment: a layer over the base's, as the session's own is
 *
 * A point is made under another name, with a lock that ends with its maker, and renamed when it is
 * whole. A point that is made for the children of a fork keeps that other name, and is removed once
 * the children are made.
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
	int points; /* the directory of all points */
	int fd;
	char name[POINT_NAME_MAX + 1]; /* name in the directory `points` */
	char *path;		       /* absolute */
	json_t *record;
	bool made; /* this process made it; it is removed again unless it gets a name */
};
#define POINT_NONE                     \
	{                              \
		.points = -1, .fd = -1 \
	}

/* --- point.c: the directories ---------------------------------------------------------------- */

int point_check_name(const char *word, struct error *err);
/* Begins an empty point in the making. Removes what other makers left of their points. */
int point_begin(const struct workspace *ws, struct point *out, struct error *err);
/* Gives the point its name. ERR_CONFLICT: a point of that name exists. */
int point_name(struct point *point, const struct workspace *ws, const char *name,
	       struct error *err);
/* Sets the error that the session has a snapshot of that name. Returns -1. */
int point_is_there(const struct workspace *ws, const char *name, struct error *err);
enum point_use { POINT_WHOLE, POINT_ANY };
/* Opens a point by its name. ERR_NOT_FOUND: there is none. ERR_CONFLICT: the point is being
 * removed. ERR_IO: the point is damaged, which is no error with POINT_ANY. */
int point_open(const struct workspace *ws, const char *name, enum point_use use, struct point *out,
	       struct error *err);
/* Removes a point. ERR_CONFLICT: another process reads it. */
int point_remove(struct point *point, struct error *err);
void point_close(struct point *point); /* accepts POINT_NONE */
#define auto_point __attribute__((cleanup(point_close)))
/* Returns the sorted names of the points that are whole. */
json_t *point_names(const struct workspace *ws, struct error *err);
/* Removes, in all sessions, points in the making that nobody makes any more. Appends each removed
 * one to removed, as SESSION/FILE. */
void points_sweep(const struct microagent *agent, json_t *removed);

/* --- point_save.c: what is in them ----------------------------------------------------------- */

/* Saves a running machine in the point. The machine stands still for a moment. kept: the digests
 * are computed, and the point is on the disk when the function returns. *told is
 * {"stateBytes","diskBytes","pauseMs"}. */
int point_save(struct point *point, const struct microagent_session *session,
	       const struct workspace *ws, bool kept, json_t **told, struct error *err);
/* Checks that the files of a kept point are the saved ones. */
int point_verify(const struct point *point, struct error *err);
/* Copies the disk of the point to dir/name. If the digest of the disk is remembered, the digest of
 * the copy is remembered too. */
int point_copy_disk(const struct point *point, int dir, const char *name, struct error *err);
/* Returns the bytes of the host's disk that the disks of all points use. */
int64_t points_bytes(const struct workspace *ws);

/* --- point_boot.c: what comes of them -------------------------------------------------------- */

/* Starts the session's machine from the point. *boot (may be NULL) is {"how","why"?}, as in
 * runtime.json. If the machine does not fit the point any more, it boots cold. */
int point_boot(struct microagent_session *session, const struct point *point, json_t **boot,
	       struct error *err);
/* Writes a line to the session's audit log and to the security log. If the session's live
 * supervisor runs, it writes the line. Otherwise this process writes the line with the command
 * lock. what and more (may be NULL) are as for audit_told_line(). */
int point_note(const struct workspace *ws, const char *what, const char *name, json_t *more,
	       struct error *err);
/* Writes such a line for a session without any living process. The caller has the command lock. */
int point_note_at_rest(const struct workspace *ws, const char *what, const char *name, json_t *more,
		       struct error *err);

/* --- on_fork.c: the command of a fork -------------------------------------------------------- */

/* Checks the command of a fork. ERR_INVALID: the command cannot be run in each child. NULL is
 * allowed. */
int on_fork_check(const struct microagent_exec *command, struct error *err);
/* Runs the command in a child, and writes the result to the child's audit log. Fails if the command
 * does not end with 0, or not within its time limit (60 s if it has none). cancel: ends the command
 * when readable; 0: never. */
int on_fork_run(struct microagent_session *child, const char *parent,
		const struct microagent_exec *command, int cancel, struct error *err);

#endif
