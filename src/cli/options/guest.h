/* SPDX-License-Identifier: MIT */
/* What all commands that run something in a guest share: the specification of a workspace, and
 * checks of the words of the command line. */
#ifndef CLI_GUEST_H
#define CLI_GUEST_H

#include "base/architecture.h"
#include "cli/options/env_file.h"
#include "cli/options/machine.h"
#include "microagent.h"

struct microagent_egress guest_egress(const struct guest_egress *given);
int guest_check_egress(struct cli *cli, const struct guest_egress *given, struct error *err);

/* The options of `run` and `create`. It is the first member of the values of both commands. */
struct guest_values {
	struct machine_values machine;
	const char *image, *kernel, *initrd, *user, *profile, *console;
	int64_t timeout;
	struct cli_words env, env_files, bundles, outputs;
	bool no_disk;
};
extern const struct cli_option guest_options[]; /* for cli_command.shared */

/* Makes the specification of a workspace, which borrows all arguments. env is from env_list_fill().
 * command is a NULL-terminated argv, or NULL. */
struct microagent_spec guest_spec(const struct guest_values *values, const struct env_list *env,
				  const char *const *command);

/* Checks the name of a workspace before anything is done. A wrong word is the user's error (exit
 * 2), here and in the checks below. name may be NULL. */
int guest_check_name(struct cli *cli, const char *name, struct error *err);
int guest_check_base(struct cli *cli, const char *name, struct error *err);
/* Refuses an empty word for a thing of the kind `what`, which may also be named by its path. NULL:
 * the word was not given. */
int guest_check_given(struct cli *cli, const char *what, const char *word, struct error *err);
/* Checks the value of --arch: an architecture, or another usual word for one. */
int guest_check_arch(struct cli *cli, const char *word, struct error *err);
/* Returns the architecture that --arch names. Returns ARCHITECTURE_COUNT, which means any, if none
 * was given. */
enum architecture guest_arch_wanted(const char *word);
/* Returns the library's name of the architecture that --arch names. Returns NULL if none was given.
 */
const char *guest_arch(const char *word);
/* Checks the NULL-terminated words of a guest command. NULL or no words: the image's own command is
 * used. */
int guest_check_command(struct cli *cli, const char *const *command, struct error *err);
/* Checks a path in a guest. */
int guest_check_path(struct cli *cli, const char *path, struct error *err);
/* Calls check for each value of an option. */
int guest_check_words(struct cli *cli, const char *option, const struct cli_words *words,
		      int (*check)(const char *word, struct error *err), struct error *err);
/* Replaces each name without a value by the variable of that name from this program's environment.
 */
int guest_take_env(struct cli *cli, const struct cli_words *env, struct error *err);
/* Reads the files with variables too. */
int guest_check(struct cli *cli, const struct guest_values *values, const char *name,
		struct env_list *env, struct error *err);

/* A warning on stderr; with --json {"warning":TEXT}. */
void guest_warn(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The warning that is due where --allow opens much at once. */
void guest_warn_allow(const struct cli *cli, const char *network, const struct cli_words *allow);
/* Prints a hint if a directory is a git worktree and git would not work in the guest. at is the
 * same as for microagent_git_outside(). given: all values of --share, which may contain the missing
 * directory. */
void guest_hint_git(const struct cli *cli, const char *word, const char *at,
		    const struct cli_words *given);
/* Warns that a directory is shared against a rule. */
void guest_warn_shared_anyway(const struct cli *cli);

/* Warns if the machine is emulated. Call it at every start. */
void guest_warn_accelerator(const struct cli *cli, const char *accelerator);

/* Warns if the machine would boot another agent than this build's. Call it whenever a machine is
 * made. kernel and arch are the values of --kernel and --arch, or NULL. */
void guest_warn_init(const struct cli *cli, const char *kernel, const char *arch);

/* guest_unconfined() applies --unconfined. guest_warn_unconfined() warns that QEMU runs without a
 * cell. */
void guest_unconfined(const struct cli *cli, struct microagent *agent);
void guest_warn_unconfined(const struct cli *cli);
/* Returns true if an answer, or a row of a list, says that a machine has no cell although it could
 * have one. A machine that the system itself keeps ("platform") cannot have a cell. */
bool guest_is_unconfined(const json_t *told);

/* Takes the value of --backend. Call it before guest_open(). NULL: the option was not given. */
int guest_take_backend(struct cli *cli, const char *word, struct error *err);

/* Opens a handle of the library. Its waits draw the progress line. */
struct microagent *guest_open(const struct cli *cli, struct progress *progress, struct error *err);

#define GUEST_ID_ROOM 160
/* A function that opens a handle for the workspace or session that word names. It writes to id the
 * name of the workspace for calls of the handle. */
typedef struct microagent *guest_open_fn(const struct cli *cli, struct progress *progress,
					 const char *word, char id[GUEST_ID_ROOM],
					 struct error *err);
/* Opens a session, which is in a state directory of its own. */
guest_open_fn guest_open_session;
/* Opens a workspace, or a session if there is no such workspace. */
guest_open_fn guest_open_at;
/* Opens a workspace or a session, for commands that look at its machine, cut it off or end it. Such
 * a command also works while the session is being made. */
guest_open_fn guest_open_living;
/* Opens a workspace, which need not exist. The name of a session is refused. */
guest_open_fn guest_open_own;

typedef json_t *guest_ask_fn(struct microagent *agent, struct error *err);
/* Asks the library about the whole state directory or host. doing is shown as progress; NULL:
 * nothing is shown. */
json_t *guest_ask(const struct cli *cli, const char *doing, guest_ask_fn *ask, struct error *err);

/* A list that the library makes of the state directory, and the function that prints it for a
 * person. */
struct guest_list {
	guest_ask_fn *ask;
	const char *key; /* key of the array in the answer */
	int (*print)(const json_t *list, struct error *err);
};
int guest_print_list(struct cli *cli, const struct guest_list *list, struct error *err);

/* Reads a word as a number of MiB, which is 1 or more. */
int guest_read_mib(struct cli *cli, const char *word, int64_t *out, struct error *err);

#endif
