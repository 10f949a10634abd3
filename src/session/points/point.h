/* SPDX-License-Identifier: MIT */
/*
 * A point of a session: its machine, saved while it ran, from which others go on as a session goes
 * on from a template. <session>/points/NAME has
 *
 *   template.json  what the machine depends on, with digests (schema/template.json)
 *   state          its memory and devices
 *   disk.qcow2     its disk of that moment: a layer over the base's, as the session's own is
 *
 * It is made under another name, with a lock on it that goes with its maker, and renamed when it is
 * whole. One that is made for the children of a fork keeps that other name, and goes with them
 * made.
 *
 * On its directory there is a lock: its maker's and its remover's alone, or shared by those who
 * read it.
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
	int points; /* the directory of all of them */
	int fd;
	char name[POINT_NAME_MAX + 1]; /* in it */
	char *path;		       /* absolute */
	json_t *record;
	bool made; /* by us, and to be removed again unless it is given a name */
};
#define POINT_NONE                     \
	{                              \
		.points = -1, .fd = -1 \
	}

/* --- point.c: the directories ---------------------------------------------------------------- */

int point_check_name(const char *word, struct error *err);
/* An empty one, in the making. What others left of theirs is removed. */
int point_begin(const struct workspace *ws, struct point *out, struct error *err);
/* Gives it its name; ERR_CONFLICT: there is one. */
int point_name(struct point *point, const struct workspace *ws, const char *name,
	       struct error *err);
/* Sets the error that the session has a snapshot of that name. Returns -1. */
int point_is_there(const struct workspace *ws, const char *name, struct error *err);
enum point_use { POINT_WHOLE, POINT_ANY };
/* One that has its name. ERR_NOT_FOUND; ERR_CONFLICT: it is being removed; ERR_IO: it is damaged,
 * which is no error with POINT_ANY. */
int point_open(const struct workspace *ws, const char *name, enum point_use use, struct point *out,
	       struct error *err);
/* ERR_CONFLICT: somebody reads it. */
int point_remove(struct point *point, struct error *err);
void point_close(struct point *point); /* accepts POINT_NONE */
#define auto_point __attribute__((cleanup(point_close)))
/* The names of those that are whole, sorted. */
json_t *point_names(const struct workspace *ws, struct error *err);
/* Of all sessions: removes what nobody makes any more. What was removed is appended to removed, as
 * SESSION/FILE. */
void points_sweep(const struct microagent *agent, json_t *removed);

/* --- point_save.c: what is in them ----------------------------------------------------------- */

/* Of a machine that runs, which stands still for a moment. kept: its digests are taken, and it is
 * on the disk when this returns. *told: {"stateBytes","diskBytes","pauseMs"}. */
int point_save(struct point *point, const struct microagent_session *session,
	       const struct workspace *ws, bool kept, json_t **told, struct error *err);
/* Of one that is kept: the files are what was saved. */
int point_verify(const struct point *point, struct error *err);
/* Its disk, copied to dir/name; where its digest is remembered, the copy's is too. */
int point_copy_disk(const struct point *point, int dir, const char *name, struct error *err);
/* What the disks of all points have of this host's. */
int64_t points_bytes(const struct workspace *ws);

/* --- point_boot.c: what comes of them -------------------------------------------------------- */

/* Starts the session's machine from the point. *boot (may be NULL): {"how","why"?}, as its
 * runtime.json has it: a machine that does not fit the point any more is booted cold. */
int point_boot(struct microagent_session *session, const struct point *point, json_t **boot,
	       struct error *err);
/* A line of the session's audit log, and of the security log: by its live supervisor where it runs,
 * else with the command lock. what, more (may be NULL): as of audit_told_line(). */
int point_note(const struct workspace *ws, const char *what, const char *name, json_t *more,
	       struct error *err);
/* With the command lock in hand, and nothing alive. */
int point_note_at_rest(const struct workspace *ws, const char *what, const char *name, json_t *more,
		       struct error *err);

/* --- on_fork.c: the command of a fork -------------------------------------------------------- */

/* ERR_INVALID for what cannot be run in each child; NULL can. */
int on_fork_check(const struct microagent_exec *command, struct error *err);
/* Runs it in a child and has the child's audit log tell of it. Fails where it ends otherwise than
 * with 0, or not in its time (60 s where it says none). cancel: ends it when readable; 0: never. */
int on_fork_run(struct microagent_session *child, const char *parent,
		const struct microagent_exec *command, int cancel, struct error *err);

#endif
