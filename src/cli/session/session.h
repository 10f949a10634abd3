/* SPDX-License-Identifier: MIT */
/* The commands of `session` that have a file of their own, and the functions that the files of
 * these commands share. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"
#include "cli/output/hint.h"

extern const struct cli_command session_stream, session_share, session_quota, session_fork,
	session_snapshot, session_restore, session_snapshots, session_snapshot_delete,
	session_destroy, session_gc;

/* Ends a command that makes sessions, and closes the signals. Returns code, unless a signal ended
 * the command. Then it prints `err` and returns the exit code for the signal. */
struct signals;
int session_end_by_signal(const struct cli *cli, struct signals *signals, int code,
			  const struct error *err);

/* If the base has a user of its own, warns that this user, as whom commands run by default, is not
 * the owner of a shared directory. `base`: the recorded metadata of the base, or NULL. */
void session_warn_user(const struct cli *cli, const json_t *base);

/* Warns that the machine of a session runs without its shared directories: names them, and says
 * why, and how the machine can get the directories. `shares`: "shares" of
 * microagent_session_describe(), from the time when the session was opened. */
void session_warn_unshared(const struct cli *cli, const char *name, const json_t *shares,
			   const char *why);

/* The directories that the user named for a session, each DIR or DIR:/PLACE[:OPTION,...]. Among
 * several directories, a DIR without a place is on /workspace. */
struct session_dirs {
	const char *plain; /* the directory, if there is only one and it has no place; else NULL */
	char **words;	   /* if `plain` is NULL: all directories with their places,
			    * NULL-terminated */
};
int session_dirs_take(struct cli *cli, const struct cli_words *given, struct session_dirs *out,
		      struct error *err);
void session_dirs_free(struct session_dirs *dirs);
#define auto_dirs __attribute__((cleanup(session_dirs_free)))
/* Calls guest_hint_git() for the directories. `at`: the place in the guest of the directory that
 * has no place of its own, or NULL. */
void session_dirs_hint_git(const struct cli *cli, const struct session_dirs *dirs, const char *at);

/* Prints the warnings for a session that was just made. `session`: the result of
 * microagent_session_describe(). */
struct microagent;
void session_warn_made(const struct cli *cli, struct microagent *agent, const json_t *session);

/* --- session_end.c: sessions that end by themselves --- */

/* Appends to `out` the time at which a running session ends by itself. `session`: an entry of
 * microagent_session_list(), or what microagent_session_describe() returns. */
void session_add_end(const json_t *session, const char *state, char out[HINT_ROOM]);
/* Says on stderr that the session `name` has ended, if this is why a command in its guest broke off
 * or was ended by a signal. `id` is the text that a guest_open_fn has written for `name`; NULL:
 * there is no workspace or session of that name. */
void session_tell_end(const struct cli *cli, const char *name, const char *id, int code);

#endif
