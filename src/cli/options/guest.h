/* SPDX-License-Identifier: MIT */
/* Functions for all commands that run a command in a guest. They check the words of the command
 * line, and make the specification of a workspace from them. */
#ifndef CLI_GUEST_H
#define CLI_GUEST_H

#include "base/architecture.h"
#include "cli/options/env_file.h"
#include "cli/options/machine.h"
#include "microagent.h"

struct microagent_egress guest_egress(const struct guest_egress *given);
int guest_check_egress(struct cli *cli, const struct guest_egress *given, struct error *err);

/* The values of the options that `run` and `create` share. This struct is the first member of the
 * values of both commands. */
struct guest_values {
	struct machine_values machine;
	const char *image, *kernel, *initrd, *user, *profile, *console;
	int64_t timeout;
	struct cli_words env, env_files, bundles, outputs;
	bool no_disk;
};
/* The shared options of `run` and `create`, for cli_command.shared. */
extern const struct cli_option guest_options[];

/* Returns the specification of a workspace. Its texts and lists belong to the arguments of this
 * function. `env` was filled by env_list_fill(). `command` is a NULL-terminated argv, or NULL. */
struct microagent_spec guest_spec(const struct guest_values *values, const struct env_list *env,
				  const char *const *command);

/* Check the name of a workspace, or of a base. A wrong word is a mistake of the user (exit 2), as
 * in all guest_check functions. `name` may be NULL. */
int guest_check_name(struct cli *cli, const char *name, struct error *err);
int guest_check_base(struct cli *cli, const char *name, struct error *err);
/* Checks that a word is not empty. `word` is the name or path of an item of the kind `what`. NULL
 * means that the user gave no word, which is valid. */
int guest_check_given(struct cli *cli, const char *what, const char *word, struct error *err);
/* Checks the value of --arch: the value must be the name of an architecture, or another common name
 * of an architecture. */
int guest_check_arch(struct cli *cli, const char *word, struct error *err);
/* Returns the architecture that --arch names. If `word` is NULL, the option was not given: returns
 * ARCHITECTURE_COUNT, which means any architecture. */
enum architecture guest_arch_wanted(const char *word);
/* Returns the library's name of the architecture that --arch names. Returns NULL if `word` is
 * NULL. */
const char *guest_arch(const char *word);
/* Checks the words of a guest command. `command` is NULL-terminated. NULL or an empty list is
 * valid, and means the image's own command. */
int guest_check_command(struct cli *cli, const char *const *command, struct error *err);
/* Checks a path of the guest. */
int guest_check_path(struct cli *cli, const char *path, struct error *err);
/* Calls check() for each value of an option. `option` is the option's name, for errors. */
int guest_check_words(struct cli *cli, const char *option, const struct cli_words *words,
		      int (*check)(const char *word, struct error *err), struct error *err);
/* Replaces each word NAME in `env` by "NAME=VALUE". The value comes from the environment of this
 * program. */
int guest_take_env(struct cli *cli, const struct cli_words *env, struct error *err);
/* Checks all values, and the name of a workspace (NULL: none). Fills *env with the variables that
 * the options give directly and by files. */
int guest_check(struct cli *cli, const struct guest_values *values, const char *name,
		struct env_list *env, struct error *err);

/* Prints a warning on stderr; with --json as {"warning":TEXT}. */
void guest_warn(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Warns if one value of --allow opens a wide range of addresses. */
void guest_warn_allow(const struct cli *cli, const char *network, const struct cli_words *allow);
/* Prints a hint if a directory is a git worktree that needs another directory, so that git would
 * not work in the guest. `word` and `at` are as for microagent_git_outside(). `given` has all
 * values of --share. Prints nothing if one of these values shares the directory that git needs. */
void guest_hint_git(const struct cli *cli, const char *word, const char *at,
		    const struct cli_words *given);
/* Warns that --share-anyway shares a directory that a rule forbids to share. */
void guest_warn_shared_anyway(const struct cli *cli);

/* Warns if the machine is emulated. Every command that starts a machine calls this function. */
void guest_warn_accelerator(const struct cli *cli, const char *accelerator);

/* Warns if the microagent-init that the machine would boot differs from the microagent-init of this
 * build. Every command that makes a machine calls this function. `kernel` and `arch` are the values
 * of --kernel and --arch, or NULL. */
void guest_warn_init(const struct cli *cli, const char *kernel, const char *arch);

/* Applies the option --unconfined to the handle. */
void guest_unconfined(const struct cli *cli, struct microagent *agent);
/* Warns that the VMM runs without a cell. */
void guest_warn_unconfined(const struct cli *cli);
/* Returns true if `told` reports that a machine runs without a cell. `told` is an answer of the
 * library, or an entry of a list in it. Returns false for a machine that can have no cell, because
 * the host's operating system itself runs the machine ("platform"). */
bool guest_is_unconfined(const json_t *told);

/* Stores the value of --backend in `cli`; NULL: the option was not given. A command calls this
 * function before guest_open(). */
int guest_take_backend(struct cli *cli, const char *word, struct error *err);

/* Opens a handle of the library. While a call with this handle waits, the progress line is
 * drawn. */
struct microagent *guest_open(const struct cli *cli, struct progress *progress, struct error *err);

#define GUEST_ID_ROOM 160
/* A function that opens a handle for the workspace or session that `word` names. It writes to `id`
 * the name by which the library knows this workspace or session, for calls with this handle. */
typedef struct microagent *guest_open_fn(const struct cli *cli, struct progress *progress,
					 const char *word, char id[GUEST_ID_ROOM],
					 struct error *err);
/* Opens a session. Sessions have a separate state directory. */
guest_open_fn guest_open_session;
/* Opens a workspace, or a session if no workspace has this name. */
guest_open_fn guest_open_at;
/* Opens a workspace or a session, for commands that look at the machine, put it into quarantine or
 * end it. Also opens a session that is still being made. */
guest_open_fn guest_open_living;
/* Opens a handle for a workspace, which need not exist. Refuses the name of a session. */
guest_open_fn guest_open_own;

typedef json_t *guest_ask_fn(struct microagent *agent, struct error *err);
/* Opens a handle, and calls ask() with it. Returns the answer, which the caller releases. `doing`
 * is a text that is shown as progress; NULL: nothing is shown. */
json_t *guest_ask(const struct cli *cli, const char *doing, guest_ask_fn *ask, struct error *err);

/* A list that the library returns, and the function that prints the list for a person. */
struct guest_list {
	guest_ask_fn *ask;
	const char *key; /* the key of the list in the answer */
	int (*print)(const json_t *list, struct error *err);
};
int guest_print_list(struct cli *cli, const struct guest_list *list, struct error *err);

/* Reads a number of MiB, at least 1, from `word`. Another word is a mistake of the user (exit
 * 2). */
int guest_read_mib(struct cli *cli, const char *word, int64_t *out, struct error *err);

#endif
