/* SPDX-License-Identifier: MIT */
/* What the commands that run something in a guest share: what a workspace is made of, and
 * what is wrong with words. */
#ifndef CLI_GUEST_H
#define CLI_GUEST_H

#include "base/architecture.h"
#include "cli/options/env_file.h"
#include "cli/options/machine.h"
#include "microagent.h"

struct microagent_egress guest_egress(const struct guest_egress *given);
int guest_check_egress(struct cli *cli, const struct guest_egress *given, struct error *err);

/* What `run` and `create` take: the beginning of their values. */
struct guest_values {
	struct machine_values machine;
	const char *image, *kernel, *initrd, *user, *profile, *console;
	int64_t timeout;
	struct cli_words env, env_files, bundles, outputs;
	bool no_disk;
};
extern const struct cli_option
	guest_options[]; /* cli_command.shared of a command that has them first */

/* env: of env_list_fill(). command: argv, NULL-terminated, or NULL. Borrows everything. */
struct microagent_spec guest_spec(const struct guest_values *values, const struct env_list *env,
				  const char *const *command);

/* What is wrong with the words alone is the caller's error (exit 2), before anything is done. name
 * may be NULL. */
int guest_check_name(struct cli *cli, const char *name, struct error *err);
int guest_check_base(struct cli *cli, const char *name, struct error *err);
/* A word that names what, or may be its path; NULL: not given. */
int guest_check_given(struct cli *cli, const char *what, const char *word, struct error *err);
/* The architecture that --arch names, or a word that people have for it. */
int guest_check_arch(struct cli *cli, const char *word, struct error *err);
/* ARCHITECTURE_COUNT where none was given: any. */
enum architecture guest_arch_wanted(const char *word);
/* As the library has it; NULL where none was given. */
const char *guest_arch(const char *word);
/* The words of a command, NULL-terminated, or NULL; without any the image's own is meant. */
int guest_check_command(struct cli *cli, const char *const *command, struct error *err);
/* A path in a guest. */
int guest_check_path(struct cli *cli, const char *path, struct error *err);
/* Each word that an option was given. */
int guest_check_words(struct cli *cli, const char *option, const struct cli_words *words,
		      int (*check)(const char *word, struct error *err), struct error *err);
/* A name alone becomes the caller's own variable of that name. */
int guest_take_env(struct cli *cli, const struct cli_words *env, struct error *err);
/* Reads the files with variables too. */
int guest_check(struct cli *cli, const struct guest_values *values, const char *name,
		struct env_list *env, struct error *err);

/* A warning on stderr; with --json {"warning":TEXT}. */
void guest_warn(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The warning that is due where --allow opens much at once. */
void guest_warn_allow(const struct cli *cli, const char *network, const struct cli_words *allow);
/* The hint that is due where a directory is a git worktree, and git would not work in the guest. at:
 * as of microagent_git_outside(). given: all the words of --share, which may have what is lacking. */
void guest_hint_git(const struct cli *cli, const char *word, const char *at,
		    const struct cli_words *given);
/* The warning that is due where a directory is shared against a rule. */
void guest_warn_shared_anyway(const struct cli *cli);

/* The warning that is due at every start on an emulated machine. */
void guest_warn_accelerator(const struct cli *cli, const char *accelerator);

/* The warning that is due at every making of a machine that boots another agent than this build's.
 * kernel and arch: as --kernel and --arch take them, or NULL. */
void guest_warn_init(const struct cli *cli, const char *kernel, const char *arch);

/* What --unconfined does; and the warning that is due wherever QEMU runs so. */
void guest_unconfined(const struct cli *cli, struct microagent *agent);
void guest_warn_unconfined(const struct cli *cli);
/* Of an answer or a row of a list: there could be a cell, and there is none. A machine that the
 * system itself keeps ("platform") could have none. */
bool guest_is_unconfined(const json_t *told);

/* What --backend says, before guest_open(); NULL: it was not given. */
int guest_take_backend(struct cli *cli, const char *word, struct error *err);

/* A handle whose waits draw progress. */
struct microagent *guest_open(const struct cli *cli, struct progress *progress, struct error *err);

#define GUEST_ID_ROOM 160
/* The same for a command on what word names; id is what the workspace is called there. */
typedef struct microagent *guest_open_fn(const struct cli *cli, struct progress *progress,
					 const char *word, char id[GUEST_ID_ROOM],
					 struct error *err);
/* A session, whose place is a state directory of its own. */
guest_open_fn guest_open_session;
/* A workspace, or else a session. */
guest_open_fn guest_open_at;
/* The same for who looks at its machine, severs or ends it, also while the session is being made. */
guest_open_fn guest_open_living;
/* A workspace that may be there or not; the name of a session is refused. */
guest_open_fn guest_open_own;

typedef json_t *guest_ask_fn(struct microagent *agent, struct error *err);
/* What the library says of the whole state directory or host; doing is shown meanwhile, or NULL. */
json_t *guest_ask(const struct cli *cli, const char *doing, guest_ask_fn *ask, struct error *err);

/* A list that the library has of the state directory, and how a person sees it. */
struct guest_list {
	guest_ask_fn *ask;
	const char *key; /* of the array in the answer */
	int (*print)(const json_t *list, struct error *err);
};
int guest_print_list(struct cli *cli, const struct guest_list *list, struct error *err);

/* A word that is a number of MiB, 1 or more. */
int guest_read_mib(struct cli *cli, const char *word, int64_t *out, struct error *err);

#endif
