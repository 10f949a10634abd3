/* SPDX-License-Identifier: MIT */
/* Commands of `session` that have a file of their own. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"
#include "cli/output/hint.h"

extern const struct cli_command session_stream, session_share, session_quota, session_fork,
	session_snapshot, session_restore, session_snapshots, session_snapshot_delete,
	session_destroy, session_gc;

/* The end of what makes sessions: its code, unless a signal ended the making, and so the command.
 */
struct signals;
int session_end_by_signal(const struct cli *cli, struct signals *signals, int code,
			  const struct error *err);

/* A session of base has a shared directory: says who its programs are there, when they are not the
 * owner by default. base: its recorded metadata, or NULL. */
void session_warn_user(const struct cli *cli, const json_t *base);

/* Its machine runs without the directories that it was to be given: which those are, why, and how it is
 * given them. shares: "shares" of microagent_session_describe(), as it was opened. */
void session_warn_unshared(const struct cli *cli, const char *name, const json_t *shares,
			   const char *why);

/* The directories that a command names, each DIR or DIR:/PLACE[:OPTION,...]; a DIR alone among
 * several is on /workspace. */
struct session_dirs {
	const char *plain; /* the only one, without a place; NULL */
	char **words;	   /* else all of them, with their places; NULL-terminated */
};
int session_dirs_take(struct cli *cli, const struct cli_words *given, struct session_dirs *out,
		      struct error *err);
void session_dirs_free(struct session_dirs *dirs);
#define auto_dirs __attribute__((cleanup(session_dirs_free)))
/* The hints that are due about git; at: where the plain one is, or NULL. */
void session_dirs_hint_git(const struct cli *cli, const struct session_dirs *dirs, const char *at);

/* What is to be said of one that was just made. session: microagent_session_describe(). */
struct microagent;
void session_warn_made(const struct cli *cli, struct microagent *agent, const json_t *session);

/* --- session_end.c: one that ends by itself --- */

/* Of one that runs, as it is listed or inspected: when that is, behind what is said already. */
void session_add_end(const json_t *session, const char *state, char out[HINT_ROOM]);
/* After a command that broke off, or was ended by a signal: says if that was why. id: what name was
 * found as, which for a workspace is its name; NULL: it was not found. */
void session_tell_end(const struct cli *cli, const char *name, const char *id, int code);

#endif
