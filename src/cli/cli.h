/* SPDX-License-Identifier: MIT */
/*
 * The interface between the files of the command line program. Each command is a struct cli_command
 * in a file cmd_*.c. The struct has the command's words, options and help. The program uses it to
 * parse the command's options, to print the help and to report usage errors. The function of a
 * command only calls the library and prints the answer.
 *
 * Functions return every error: only main() prints errors and chooses the exit code. No command
 * ever asks the user a question. stdout gets the answer, with --json as one JSON document and a
 * newline. stderr gets warnings, progress and errors.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* The exit codes of this program. `run` and `exec` also return the exit code of the guest command.
 */
enum cli_exit {
	CLI_EXIT_OK = 0,
	CLI_EXIT_FAILED = 1,
	CLI_EXIT_USAGE = 2,
	CLI_EXIT_RETRY = 75,	/* ERR_UNAVAILABLE and ERR_TIMEOUT: a second try may work */
	CLI_EXIT_TIMEOUT = 124, /* `run` and `exec`: the time of --timeout has passed */
	/* `run` and `exec`: this program or the machine failed, not the guest command */
	CLI_EXIT_OURS = 125
};

/* The options that every command has, and the state of this process. */
struct cli {
	bool json;		      /* true: the option --json was given */
	const char *state_dir_option; /* the value of --state-dir; NULL: not given */
	const char *backend;	      /* the value of --backend; NULL: not given */
	/* the words that name the command, such as "kernel list" */
	char words[64];
	const struct cli_command *command; /* the command that runs; NULL until it is known */
	bool stdout_closed;		   /* true: stdout was closed when the program started */
	int stdout_errnum; /* errno of a failed write to stdout; 0: no write has failed yet */
	bool usage_error;  /* true: the error is a mistake of the user, so the exit code is 2 */
	bool help;	   /* true: the option --help was given */
};

/* --- options --------------------------------------------------------------------------------- */

enum cli_option_kind {
	CLI_OPTION_FLAG,   /* an option without a value; the field is a bool */
	CLI_OPTION_STRING, /* a text; the field is a const char * */
	/* a UTF-8 text for the guest; the field is a const char * */
	CLI_OPTION_GUEST,
	CLI_OPTION_INT, /* a number from min to max; the field is an int64_t */
	/* a size above 0, such as "4096", "64K", "10M", "2G" or "1T"; the field is an int64_t with
	 * bytes */
	CLI_OPTION_SIZE,
	/* a time above 0, such as "90", "90s", "30m", "2h" or "30d"; the field is an int64_t with
	 * seconds */
	CLI_OPTION_DURATION,
	CLI_OPTION_LIST /* an option that may be repeated; the field is a struct cli_words */
};

/* Words of the command line. The strings belong to argv. The dispatcher frees the array `items`,
 * whose entry items[count] is NULL. */
struct cli_words {
	const char **items; /* array of the words; NULL if `count` is 0 */
	size_t count;
};

struct cli_option {
	const char *name; /* the name without dashes ("memory" for --memory); NULL ends the table */
	char letter;	  /* the short name ('f' for -f); 0: none */
	enum cli_option_kind kind;
	size_t offset; /* the offset of the field in the struct of the command's values */
	/* The kind of the value, for help and completion; NULL for a flag. "nat|isolated" means
	 * that the parser accepts only one of these words. A text without '|' is a kind that
	 * cli/complete/offer.c knows ("IMAGE"), or only a word for the help ("MIB"). */
	const char *value;
	const char *help; /* the text for the help: one line without a full stop */
	int64_t min, max; /* for CLI_OPTION_INT: the smallest and the largest value */
};

/* --- commands -------------------------------------------------------------------------------- */

enum cli_group {
	CLI_GROUP_RUN,
	CLI_GROUP_LIFECYCLE,
	CLI_GROUP_OBSERVE,
	CLI_GROUP_HOST,
	CLI_GROUP_COUNT
};

/*
 * The function of a command. `values` is a struct of the command's own type, which has the values
 * of its options. The field of an option that was not given is zero. `values` is NULL if the
 * command has no options. `args` has the words that are not options. Returns the exit code, or -1
 * with `err` set. After -1 main() prints the error. main() then exits with 1, with 2 (after
 * cli_usage()), with 75, or with 125 (`run` and `exec`).
 */
typedef int cli_run_fn(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err);

struct cli_command {
	const char *name; /* the command's name; NULL ends a table */
	/* the arguments, such as "NAME [-- CMD...]", in the words of cli_option.value; NULL: none */
	const char *args;
	const char *summary; /* the text for a list of commands: one line without a full stop */
	/* more paragraphs of the help, or NULL; each line has at most 80 columns and ends with
	 * "\n" */
	const char *help;
	enum cli_group group;
	/* the command's own options; an option without a name ends the table; NULL: none */
	const struct cli_option *options;
	/* Options that this command shares with other commands. The help lists them before
	 * `options`. Their values are in a struct at the beginning of the command's values. NULL:
	 * none. */
	const struct cli_option *shared;
	/* Bits that select the machine options of this command (cli/options/machine.h). The help
	 * lists these options last. 0: none. */
	unsigned machine;
	size_t values_size;
	/* the smallest and largest number of arguments; SIZE_MAX: any number */
	size_t min_args, max_args;
	/* true: after `plain_args` words, or after "--", every word belongs to a command of the
	 * guest. The parser then treats no word as an option. */
	bool takes_command;
	size_t plain_args;
	/* true for `run` and `exec`: after an error of this program the exit code is 125. The error
	 * goes to stderr even with --json. */
	bool guest_exit;
	/* Checks the first word, which must have the form of a name. A wrong word is a mistake of
	 * the user (exit 2). NULL: the function `run` checks the word, or the word is not a
	 * name. */
	int (*check_name)(const char *word, struct error *err);
	cli_run_fn *run; /* the function of the command; NULL if `sub` is set */
	/* the NULL-terminated list of the commands in a group, such as `list` in the group
	 * `kernel`; NULL: this command is not a group */
	const struct cli_command *const *sub;
};

/* The commands. Each command is defined in a file cmd_*.c. */
extern const struct cli_command cli_connect, cli_halt, cli_quarantine, cli_inspect, cli_result,
	cli_events, cli_profiles;
extern const struct cli_command cli_run, cli_create, cli_start, cli_status, cli_exec, cli_stop,
	cli_kill, cli_delete, cli_list, cli_logs, cli_doctor, cli_host, cli_kernel, cli_image,
	cli_version, cli_help, cli_contract, cli_balloon, cli_network, cli_cp, cli_artifacts,
	cli_changes, cli_ls, cli_clone, cli_base, cli_session, cli_audit, cli_audit_telemetry,
	cli_pool, cli_guest_bundle, cli_perf, cli_mcp, cli_setup;

/* The table of all commands, in the order of `help`. The last entry is NULL. */
extern const struct cli_command *const cli_commands[];

/* Sets an ERR_INVALID error, and marks it as a mistake of the user (exit 2). Returns -1. */
int cli_usage(struct cli *cli, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Copies *why, an error that the library has found in the user's words, to *err. Marks *err as a
 * mistake of the user (exit 2). Returns -1. */
int cli_usage_error(struct cli *cli, const struct error *why, struct error *err);

/*
 * Parses words by the option tables of a command. Accepts "--name VALUE", "--name=VALUE", "-f" and
 * "-f VALUE". Also accepts the options that every command has (such as --json), and stores their
 * values in `cli`. `values` points to values_size zeroed bytes. A failure is a mistake of the user:
 * the error names the wrong word, and a known word that is similar. After a failure the caller has
 * nothing to free. After a success cli_values_free() frees the contents of CLI_OPTION_LIST fields.
 */
int cli_parse(struct cli *cli, const struct cli_command *command, const char *const *words,
	      size_t count, void *values, struct cli_words *args, struct error *err);
void cli_values_free(const struct cli_command *command, void *values);

/* Parses the options before the word that names the command. Sets *used to the number of words of
 * these options. */
int cli_parse_global(struct cli *cli, const char *const *words, size_t count, size_t *used,
		     struct error *err);

/* Returns the entry of `names` that the user has probably meant by `word`; `names` is
 * NULL-terminated. This is the nearest entry (base/nearest.h). If no entry is near, it is the only
 * entry with the same first 3 letters. Returns NULL if no entry is similar. */
const char *cli_nearest(const char *word, const char *const *names);

/* Prints the help of one command, or of a group of commands (`kernel`), to `out`. `parent` is
 * "kernel" for `kernel list`, and NULL for a command without a group. */
void cli_print_help(FILE *out, const char *parent, const struct cli_command *command);
/* Prints the help of the program: all commands, in groups. */
void cli_print_overview(FILE *out);

/* Returns an option of a command by its index. The shared options come first, then the command's
 * own options, then the machine options. Returns NULL for an index after the last option. `command`
 * may be NULL. */
const struct cli_option *cli_option_at(const struct cli_command *command, size_t index);
/* Find an option of a command by its name, which is `len` bytes long, or by its letter. Return NULL
 * if the command has no such option. */
const struct cli_option *cli_option_find(const struct cli_command *command, const char *name,
					 size_t len);
const struct cli_option *cli_option_letter(const struct cli_command *command, char letter);
/* A command without words, whose options are those that every command has. These options may come
 * before or after the command word. */
extern const struct cli_command cli_any_command;
/* Returns the word with this index in `value`, a list like "auto|kvm|tcg". Sets *len to the length
 * of the word in bytes. Returns NULL for an index after the last word, and if `value` is not such a
 * list. */
const char *cli_choice_at(const char *value, size_t index, size_t *len);
bool cli_choice_has(const char *value, const char *text);

/* Finds a command by its name in a NULL-terminated table. Returns NULL if no command has this
 * name. */
const struct cli_command *cli_find(const struct cli_command *const *commands, const char *name);

/* Changes an error that names a field of the request: afterwards the error names the option that
 * has set the field, and the value that the user gave. `values` are the values of the command's
 * options. If the command has no such option, the error names the option of `create` that sets the
 * field. Returns true if the error is only that the value of an option of this command is wrong.
 * (options.c) */
bool cli_name_options(const struct cli_command *command, const void *values, struct error *err);

/* Prints all completions of the last word, one on each line (docs/microagent.1.scd, COMPLETION). If
 * an error occurs, only some of the completions are printed. (complete.c) */
void cli_complete(FILE *out, const char *const *words, size_t count);

/* Parses the words of argv, and runs the command. Returns the exit code, or -1 with `err` set. The
 * caller prints the error. Sets *guest_exit to true if failures of the command exit with 125 and
 * are printed on stderr. */
int cli_dispatch(struct cli *cli, const char *const *words, size_t count, bool *guest_exit,
		 struct error *err);

/* --- output ---------------------------------------------------------------------------------- */

#define CLI_ITSELF 512
/* Sets the struct cli that cli_itself() uses if its argument is NULL. */
void cli_speaks(const struct cli *cli);
/* Writes to `out` the beginning of a command that the user can type, and returns `out`:
 * "microagent", with the --state-dir that was given, quoted for a shell. If the given directory is
 * a directory of sessions, <state>/sessions, writes only "microagent". If `cli` is NULL, the
 * function uses the cli of the last cli_speaks(). When a message is printed, this text replaces
 * each "`microagent " in the message. */
const char *cli_itself(const struct cli *cli, char out[CLI_ITSELF]);
/* Prints `value` as one line of JSON on stdout. Does not take over the reference to `value`. */
int cli_print_json(const json_t *value, struct error *err);
/*
 * Writes bytes to `out` for a command with a deadline. The reader of `out` may be slow. The
 * function waits for the reader until `read_by_ns` (on clock_mono_ns(); UINT64_MAX: for ever).
 * After that time the function goes on as long as the reader takes some bytes every
 * LIMIT_UNREAD_MS, but at most for LIMIT_EXEC_LATE_MS. Returns 0 if all bytes were written; 1 if
 * the last bytes were dropped (no buffer contains them); -1 with errno set.
 */
int cli_write_by(FILE *out, const void *bytes, size_t len, uint64_t read_by_ns);
/* Prints `value` as one line of JSON on stdout, with the wait and the results of cli_write_by().
 * Does not take over the reference to `value`. */
int cli_print_json_by(const json_t *value, uint64_t read_by_ns, struct error *err);
/* Returns true if a write to stderr would not block now. */
bool cli_stderr_is_read(void);
/* Prints "microagent: MESSAGE\n" to `out`, and "microagent: hint: ...\n" if a next step is known
 * (hint.h). With --json prints
 * {"ok":false,"error","errorCode","errorReason"?,"errorSubject"?,"hint"?} instead. */
void cli_print_error(const struct cli *cli, const struct error *err, FILE *out);
/* Prints "microagent: warning: ...\n" on stderr, for an error that does not end the command. Also
 * prints the hint for this error. `before` is a text that is put in front of the message. */
void cli_warn_error(const struct cli *cli, const char *before, const struct error *err);
/* Prints "microagent: warning: ...\n" on stderr. */
void cli_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Returns true if `stream` is a terminal that may show colours (NO_COLOR unset or empty, TERM not
 * "dumb"). */
bool cli_colour(FILE *stream);
/* Prints text that comes from a guest or from a foreign file. Control bytes become '?'. */
void cli_print_safe(FILE *out, const char *text);

/* A table with aligned columns. All rows are collected before they are printed. Control bytes in
 * cells become '?'. */
struct cli_table {
	size_t columns;
	/* the texts of all cells, row by row; the first row has the heads of the columns */
	char **cells;
	size_t count, room;
};
int cli_table_init(struct cli_table *table, size_t columns, const char *const *heads,
		   struct error *err);
/* Adds one row and copies its cells. `cells` has one entry for each column; a NULL entry prints
 * "-". */
int cli_table_row(struct cli_table *table, const char *const *cells, struct error *err);
void cli_table_print(const struct cli_table *table, FILE *out);
void cli_table_free(struct cli_table *table); /* accepts a zeroed table */
#define auto_table __attribute__((cleanup(cli_table_free)))

/*
 * The progress line, for work that takes longer than a second. If stderr is a terminal, the line is
 * rewritten in place, and erased at the end. Otherwise nothing is printed. The line appears at the
 * first call of progress_tick() that comes at least one second after progress_start(). Every long
 * wait must call progress_tick() at least every 200 ms, so that the line shows that the work goes
 * on.
 */
struct progress {
	bool on;    /* true: stderr is a terminal */
	bool shown; /* true: a line is on the screen */
	uint64_t start_ns;
	/* the time on clock_mono_ns() of the last drawing; the line is drawn at most ten times a
	 * second */
	uint64_t drawn_ns;
	uint64_t done, total;
	char what[80]; /* the work that is being done, like "building the kernel" */
	/* the last line of output, or the name of the file that is being processed */
	char detail[80];
};
#define PROGRESS_INIT       \
	{                   \
		.on = false \
	}
void progress_start(struct progress *progress, const char *what);
/* Sets how much of the work is done: `done` of `total`, in any unit. If `total` is 0, the total is
 * not known: the line then shows a clock and no percentage. */
void progress_set(struct progress *progress, uint64_t done, uint64_t total);
void progress_detail(struct progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void progress_tick(struct progress *progress);
void progress_end(struct progress *progress); /* erases the line; call it after a failure too */
#define autoprogress __attribute__((cleanup(progress_end)))

#endif
