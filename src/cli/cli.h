/* SPDX-License-Identifier: MIT */
/*
 * The interface between the files of the command line program. Each command is a struct cli_command
 * in a file cmd_*.c. The struct has the command's words, options and help, so that parsing,
 * `--help` and usage errors need no code of the command. The function of a command only calls the
 * library and prints the answer.
 *
 * Functions return every error: only main() prints errors and picks the exit code. No command ever
 * prompts. stdout gets the answer (with --json one JSON document and a newline). stderr gets
 * warnings, progress and errors.
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
	CLI_EXIT_RETRY = 75,	/* ERR_UNAVAILABLE and ERR_TIMEOUT: a retry may work */
	CLI_EXIT_TIMEOUT = 124, /* run, exec: the command's --timeout passed */
	CLI_EXIT_OURS = 125	/* run, exec: this program or the machine failed, not the command */
};

/* One run of the program. */
struct cli {
	bool json;			   /* the option --json was given */
	const char *state_dir_option;	   /* the value of --state-dir; NULL: not given */
	const char *backend;		   /* the value of --backend; NULL: not given */
	char words[64];			   /* the command's own words: "kernel list" */
	const struct cli_command *command; /* the command that runs; NULL until it is known */
	bool stdout_closed;		   /* stdout was closed when the program started */
	int stdout_errnum; /* errno of a failed write to stdout; 0: none is known yet */
	bool usage_error;  /* the error is the user's: the exit code is 2 */
	bool help;	   /* the option --help was given */
};

/* --- options --------------------------------------------------------------------------------- */

enum cli_option_kind {
	CLI_OPTION_FLAG,     /* bool */
	CLI_OPTION_STRING,   /* const char * */
	CLI_OPTION_GUEST,    /* const char *; the guest gets the text, so it must be UTF-8 */
	CLI_OPTION_INT,	     /* int64_t, min..max */
	CLI_OPTION_SIZE,     /* int64_t, bytes above 0: "4096", "64K", "10M", "2G", "1T" */
	CLI_OPTION_DURATION, /* int64_t, seconds above 0: "90", "90s", "30m", "2h", "30d" */
	CLI_OPTION_LIST	     /* struct cli_words: the option may be given more than once */
};

/* Words of the command line. The words are borrowed from argv. The dispatcher frees the array.
 * items[count] is NULL. */
struct cli_words {
	const char **items; /* NULL when `count` is 0 */
	size_t count;
};

struct cli_option {
	const char *name; /* "memory" for --memory; NULL ends the table */
	char letter;	  /* 'f' for -f; 0: none */
	enum cli_option_kind kind;
	size_t offset; /* offset of the field in the struct of the command's values */
	/* The kind of the value, for help and completion; NULL for a flag. "nat|isolated" means one
	 * of these words, and the parser accepts no other value. A value without '|' is a kind that
	 * cli/complete/offer.c knows ("IMAGE"), or only a word for the help ("MIB"). */
	const char *value;
	const char *help; /* one line, no full stop */
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
 * of its options; the fields of options that were not given are zero. `values` is NULL if the
 * command has no options. `args` are the remaining words. Returns the exit code, or -1 with `err`
 * set. After -1 main() prints the error and exits with 1, with 2 (after cli_usage()), with 75, or
 * with 125 (`run` and `exec`).
 */
typedef int cli_run_fn(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err);

struct cli_command {
	const char *name;    /* NULL ends a table */
	const char *args;    /* "NAME [-- CMD...]": the arguments, by the same words as in
			      * cli_option.value; NULL for none */
	const char *summary; /* one line without a full stop */
	const char
		*help; /* more paragraphs, each line at most 80 columns, "\n" at its end; or NULL */
	enum cli_group group;
	const struct cli_option *options; /* ends with a NULL name; NULL for none */
	/* Options that other commands have too. The help lists them before `options`. Their values
	 * are in a struct at the beginning of the command's values. NULL: none. */
	const struct cli_option *shared;
	/* Bits that select the machine options of this command (cli/options/machine.h). The help
	 * lists these options last. 0: none. */
	unsigned machine;
	size_t values_size;
	size_t min_args, max_args; /* SIZE_MAX: any number */
	/* true: after `plain_args` words, or after "--", every word belongs to a command of the
	 * guest, so the parser takes none of these words for an option */
	bool takes_command;
	size_t plain_args;
	/* true for run and exec: on an error of this program the exit code is 125, and the error
	 * goes to stderr, also with --json */
	bool guest_exit;
	/* Checks whether the first word can be a name of the right kind. A wrong word is the user's
	 * error (exit 2). NULL: the function `run` checks the word, or the word is no name. */
	int (*check_name)(const char *word, struct error *err);
	cli_run_fn *run;		      /* NULL if `sub` is set */
	const struct cli_command *const *sub; /* for a group like `kernel`: its commands
					       * (`kernel list`), NULL-terminated */
};

/* The commands, each in a file cmd_*.c. */
extern const struct cli_command cli_connect, cli_halt, cli_quarantine, cli_inspect, cli_result,
	cli_events, cli_profiles;
extern const struct cli_command cli_run, cli_create, cli_start, cli_status, cli_exec, cli_stop,
	cli_kill, cli_delete, cli_list, cli_logs, cli_doctor, cli_host, cli_kernel, cli_image,
	cli_version, cli_help, cli_contract, cli_balloon, cli_network, cli_cp, cli_artifacts,
	cli_changes, cli_ls, cli_clone, cli_base, cli_session, cli_audit, cli_audit_telemetry,
	cli_pool, cli_guest_bundle, cli_perf, cli_mcp, cli_setup;

/* The table of all commands, in the order of `help`. The last entry is NULL. */
extern const struct cli_command *const cli_commands[];

/* Sets an ERR_INVALID error and marks it as the user's (exit 2). Returns -1. */
int cli_usage(struct cli *cli, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Copies *why, the error of a check by the library, to *err, and marks it as the user's (exit 2).
 * Returns -1. */
int cli_usage_error(struct cli *cli, const struct error *why, struct error *err);

/*
 * Parses words by the option tables of a command: "--name VALUE", "--name=VALUE", "-f", "-f VALUE".
 * Options that every command has (--json and the like) are accepted too, and their values go into
 * `cli`. `values` points to values_size zeroed bytes. A failure is the user's error: it names the
 * word, and a known word that is similar. After a failure the caller has nothing to free. After a
 * success cli_values_free() frees the contents of CLI_OPTION_LIST fields.
 */
int cli_parse(struct cli *cli, const struct cli_command *command, const char *const *words,
	      size_t count, void *values, struct cli_words *args, struct error *err);
void cli_values_free(const struct cli_command *command, void *values);

/* Parses the options in front of the command word. Sets *used to the number of words of these
 * options. */
int cli_parse_global(struct cli *cli, const char *const *words, size_t count, size_t *used,
		     struct error *err);

/* Returns the entry of names (NULL-terminated) that the user has probably meant by `word`: the
 * nearest entry (base/nearest.h), else the only entry that has the same first 3 letters. Returns
 * NULL if there is no such entry. */
const char *cli_nearest(const char *word, const char *const *names);

/* Prints the help of one command, or of a group of commands (`kernel`), to `out`. `parent` is
 * "kernel" for `kernel list`, and NULL for a command without a group. */
void cli_print_help(FILE *out, const char *parent, const struct cli_command *command);
/* Prints the help of the program: all commands, in groups. */
void cli_print_overview(FILE *out);

/* Returns an option of a command by its index: first the shared options, then the command's own,
 * then those of a machine. Returns NULL after the last. `command` may be NULL. */
const struct cli_option *cli_option_at(const struct cli_command *command, size_t index);
/* Find an option of a command by its name, which is `len` bytes long, or by its letter. Return NULL
 * if the command has no such option. */
const struct cli_option *cli_option_find(const struct cli_command *command, const char *name,
					 size_t len);
const struct cli_option *cli_option_letter(const struct cli_command *command, char letter);
/* A command without words, whose options are those that every command has. These options may come
 * before or after the command word. */
extern const struct cli_command cli_any_command;
/* Returns the word with that index in `value`, a list like "auto|kvm|tcg". The word is *len bytes
 * long. Returns NULL after the last word, and if `value` is no such list. */
const char *cli_choice_at(const char *value, size_t index, size_t *len);
bool cli_choice_has(const char *value, const char *text);

/* Finds a command by its name in a table. Returns NULL if no command has this name. */
const struct cli_command *cli_find(const struct cli_command *const *commands, const char *name);

/* Changes an error about a field of the request to an error about the option of the command that
 * has set the field, with the value that the user gave. `values` is as for cli_run_fn. If the
 * command has no such option, the error names the option of `create` that sets the field. Returns
 * true if the error is only that the value of an option of this command is wrong. (options.c) */
bool cli_name_options(const struct cli_command *command, const void *values, struct error *err);

/* Prints all completions of the last word, one a line (docs/microagent.1.scd, COMPLETION). An error
 * only makes the list shorter. (complete.c) */
void cli_complete(FILE *out, const char *const *words, size_t count);

/* Parses the words of argv, runs the command and returns the exit code, or -1 with `err` set. The
 * caller prints the error. Sets *guest_exit to true if failures of the command exit with 125 and go
 * to stderr. */
int cli_dispatch(struct cli *cli, const char *const *words, size_t count, bool *guest_exit,
		 struct error *err);

/* --- output ---------------------------------------------------------------------------------- */

#define CLI_ITSELF 512
/* Sets the struct cli that cli_itself() uses if its argument is NULL. */
void cli_speaks(const struct cli *cli);
/* Writes to `out`, and returns, the beginning of a command that the user can type: "microagent",
 * with the --state-dir that was given, quoted for a shell. <state>/sessions is left out, because
 * the commands for sessions take the directory above it. If `cli` is NULL, the cli of the last
 * cli_speaks() is used. When a message is printed, each "`microagent " in it is replaced by this
 * text. */
const char *cli_itself(const struct cli *cli, char out[CLI_ITSELF]);
/* Prints one line of JSON on stdout. Borrows `value`. */
int cli_print_json(const json_t *value, struct error *err);
/*
 * Writes bytes to `out`, which may have a slow reader, for a command with a deadline. Waits for the
 * reader until `read_by_ns` (on clock_mono_ns(); UINT64_MAX: for ever). After that it goes on as
 * long as the reader takes some bytes every LIMIT_UNREAD_MS, but at most for LIMIT_EXEC_LATE_MS.
 * Returns 0 if all bytes were written, 1 if the last bytes were dropped (none of them is left in a
 * buffer), -1 with errno set.
 */
int cli_write_by(FILE *out, const void *bytes, size_t len, uint64_t read_by_ns);
/* Prints one line of JSON on stdout, as cli_write_by() does. Borrows `value`. */
int cli_print_json_by(const json_t *value, uint64_t read_by_ns, struct error *err);
/* Returns true if a write to stderr would not have to wait for its reader now. */
bool cli_stderr_is_read(void);
/* Prints "microagent: MESSAGE\n" to `out`, and "microagent: hint: ...\n" if a next step is known
 * (hint.h). With --json it prints
 * {"ok":false,"error","errorCode","errorReason"?,"errorSubject"?,"hint"?}. */
void cli_print_error(const struct cli *cli, const struct error *err, FILE *out);
/* Prints "microagent: warning: ...\n" on stderr, for an error that does not end the command, and
 * the hint for this error. `before`: the text that is put in front of the message. */
void cli_warn_error(const struct cli *cli, const char *before, const struct error *err);
/* Prints "microagent: warning: ...\n" on stderr. */
void cli_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Returns true if `stream` is a terminal that may show colours (NO_COLOR unset or empty, TERM not
 * "dumb"). */
bool cli_colour(FILE *stream);
/* Prints text that comes from a guest or from a foreign file. Control bytes become '?'. */
void cli_print_safe(FILE *out, const char *text);

/* A table with aligned columns. It collects all rows before it prints them. Control bytes in cells
 * become '?'. */
struct cli_table {
	size_t columns;
	char **cells; /* row by row, the heads first */
	size_t count, room;
};
int cli_table_init(struct cli_table *table, size_t columns, const char *const *heads,
		   struct error *err);
/* Adds one row and copies its cells. `cells` has one entry for each column; a NULL entry prints
 * "-". */
int cli_table_row(struct cli_table *table, const char *const *cells, struct error *err);
void cli_table_print(const struct cli_table *table, FILE *out);
void cli_table_free(struct cli_table *table); /* accepts a zeroed one */
#define auto_table __attribute__((cleanup(cli_table_free)))

/*
 * The progress line, for work that takes longer than a second. If stderr is a terminal, the line is
 * rewritten in place, and erased at the end; otherwise nothing is printed. The line appears with
 * the first call that comes one second or more after progress_start(). Every long wait must call
 * progress_tick() at least every 200 ms, so that the line moves.
 */
struct progress {
	bool on;    /* stderr is a terminal */
	bool shown; /* a line is on the screen */
	uint64_t start_ns;
	uint64_t drawn_ns; /* when the line was last drawn; it is drawn at most ten times a
			    * second */
	uint64_t done, total;
	char what[80];	 /* the present work, like "building the kernel" */
	char detail[80]; /* the last line of output, or the present file */
};
#define PROGRESS_INIT       \
	{                   \
		.on = false \
	}
void progress_start(struct progress *progress, const char *what);
/* Sets how much is done: `done` of `total`, in any unit. If `total` is 0 (not known), the line
 * shows a clock and no percentage. */
void progress_set(struct progress *progress, uint64_t done, uint64_t total);
void progress_detail(struct progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void progress_tick(struct progress *progress);
void progress_end(struct progress *progress); /* erases the line; also on failure */
#define autoprogress __attribute__((cleanup(progress_end)))

#endif
