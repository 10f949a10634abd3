/* SPDX-License-Identifier: MIT */
/* The commands of `session` that have separate files, and the functions that these files share. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"
#include "cli/output/hint.h"

extern const struct cli_command session_stream, session_share, session_quota, session_fork,
	session_snapshot, session_restore, session_snapshots, session_snapshot_delete,
	session_destroy, session_gc;

/* Ends a command that makes sessions, and closes `signals`. Returns `code`, unless a signal has
 * ended the command. In that case prints `err` and returns the exit code for the signal. */
struct signals;
int session_end_by_signal(const struct cli *cli, struct signals *signals, int code,
			  const struct error *err);

/* Warns about shared directories if the base has its own user, as whom commands run by default:
 * this user is not the owner of a shared directory. `base` is the recorded metadata of the base, or
 * NULL. */
void session_warn_user(const struct cli *cli, const json_t *base);

/* Warns that the machine of a session runs without its shared directories. The warning names them,
 * and tells the reason (`why`) and how the machine can get them. `shares` is the member "shares" of
 * microagent_session_describe(), read when the session was opened. */
void session_warn_unshared(const struct cli *cli, const char *name, const json_t *shares,
			   const char *why);

/* The directories that the user named for a session. Each one has the form DIR or
 * DIR:/PLACE[:OPTION,...]. If there are several, the place of a DIR without a place is
 * /workspace. */
struct session_dirs {
	/* the directory, if there is only one and its place was not given; otherwise NULL */
	const char *plain;
	/* if `plain` is NULL: the NULL-terminated list of all directories with their places */
	char **words;
};
int session_dirs_take(struct cli *cli, const struct cli_words *given, struct session_dirs *out,
		      struct error *err);
void session_dirs_free(struct session_dirs *dirs);
#define auto_dirs __attribute__((cleanup(session_dirs_free)))
/* Calls guest_hint_git() for each directory. `at` is the place in the guest of a directory whose
 * place was not given, or NULL. */
void session_dirs_hint_git(const struct cli *cli, const struct session_dirs *dirs, const char *at);

/* Prints the warnings for a session that was just made. `session` is the result of
 * microagent_session_describe(). */
struct microagent;
void session_warn_made(const struct cli *cli, struct microagent *agent, const json_t *session);

/* --- session_end.c: sessions that end by themselves --- */

/* Appends the time at which a running session ends by itself to `out`. `session` is an entry of
 * microagent_session_list(), or the result of microagent_session_describe(). */
void session_add_end(const json_t *session, const char *state, char out[HINT_ROOM]);
/* Prints on stderr that the session `name` has ended, if its end is the reason why a command in its
 * guest failed (`code`: the exit code of this program). Otherwise prints nothing. `id` is the text
 * that a guest_open_fn has written for `name`; NULL: no workspace or session has that name. */
void session_tell_end(const struct cli *cli, const char *name, const char *id, int code);

#endif
