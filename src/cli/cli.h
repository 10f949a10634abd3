/* SPDX-License-Identifier: MIT */
/*
 * What the commands of the command line share. A command is one row of a table and one file
 * cmd_*.c: the row says its words, options and help, so that parsing, `--help` and usage errors
 * need no code of its own; its function only calls the library and prints the answer.
 *
 * Everything that goes wrong is returned: main() alone prints errors and picks the exit code.
 * Nothing ever prompts. stdout carries the answer (with --json one JSON document and a newline),
 * stderr carries warnings, progress and errors.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Exit codes of our own; `run` and `exec` also give the guest command's. */
enum cli_exit {
	CLI_EXIT_OK = 0,
	CLI_EXIT_FAILED = 1,
	CLI_EXIT_USAGE = 2,
	CLI_EXIT_RETRY = 75,	/* ERR_UNAVAILABLE and ERR_TIMEOUT: the same again may work */
	CLI_EXIT_TIMEOUT = 124, /* run, exec: the command's --timeout passed */
	CLI_EXIT_OURS = 125	/* run, exec: the failure is ours, not the command's */
};

/* One run of the program. */
struct cli {
	bool json;			   /* --json */
	const char *state_dir_option;	   /* --state-dir, NULL when not given */
	const char *backend;		   /* --backend, NULL when not given */
	char words[64];			   /* the command's own words: "kernel list" */
	const struct cli_command *command; /* the one that runs; NULL until it is known */
	bool stdout_closed;		   /* there was none when we were started */
	int stdout_errnum; /* why something was not written to it; 0: nothing told yet */
	bool usage_error;  /* the error at hand is the caller's: exit 2 */
	bool help;	   /* --help */
};

/* --- options --------------------------------------------------------------------------------- */

enum cli_option_kind {
	CLI_OPTION_FLAG,   /* bool */
	CLI_OPTION_STRING, /* const char * */
	CLI_OPTION_GUEST, /* const char *, which the guest is told: UTF-8, as all of its protocol */
	CLI_OPTION_INT,	  /* int64_t, min..max */
	CLI_OPTION_SIZE,  /* int64_t, bytes above 0: "4096", "64K", "10M", "2G", "1T" */
	CLI_OPTION_DURATION, /* int64_t, seconds above 0: "90", "90s", "30m", "2h", "30d" */
	CLI_OPTION_LIST	     /* struct cli_words: the option may be given again */
};

/* Words of the command line, borrowed from argv; the array itself is freed by the dispatcher.
 * items[count] is NULL. */
struct cli_words {
	const char **items; /* NULL when count is 0 */
	size_t count;
};

struct cli_option {
	const char *name; /* "memory" for --memory; NULL ends the table */
	char letter;	  /* 'f' for -f; 0: none */
	enum cli_option_kind kind;
	size_t offset; /* of the field in the command's values */
	/* What the value is, for help and completion: "nat|isolated" for one of these words, which
	 * the parser holds; else as cli/complete/offer.c has it ("IMAGE") or of one's own ("MIB");
	 * NULL for a flag. */
	const char *value;
	const char *help; /* one line, no full stop */
	int64_t min, max; /* CLI_OPTION_INT */
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
 * values is the command's own struct, zeroed and then filled from its option table (NULL without
 * one); args are the remaining words. Returns the exit code, or -1 with err set: main() prints it
 * and exits 1, 2 (after cli_usage()), 75, or 125 for `run` and `exec`.
 */
typedef int cli_run_fn(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err);

struct cli_command {
	const char *name;    /* NULL ends a table */
	const char *args;    /* "NAME [-- CMD...]", as values of options are; NULL for none */
	const char *summary; /* one line without a full stop */
	const char
		*help; /* more paragraphs, each line at most 80 columns, "\n" at its end; or NULL */
	enum cli_group group;
	const struct cli_option *options; /* ends with a NULL name; NULL for none */
	/* Options that other commands have too, listed before those: fields of a struct with which
	 * the values begin. NULL: none. */
	const struct cli_option *shared;
	/* Which rows of the options of a machine it has (cli/options/machine.h), listed after all
	 * others. 0: none. */
	unsigned machine;
	size_t values_size;
	size_t min_args, max_args; /* SIZE_MAX: any number */
	/* true: after plain_args words, or "--", every word belongs to a command of the guest and
	 * no option of ours is looked for in it */
	bool takes_command;
	size_t plain_args;
	bool guest_exit; /* run, exec: errors of ours are 125 and go to stderr also with --json */
	/* Whether the first word can be a name of its kind; what cannot is wrong use (exit 2).
	 * NULL: it is looked at by run, or no name. */
	int (*check_name)(const char *word, struct error *err);
	cli_run_fn *run;		      /* NULL where sub is set */
	const struct cli_command *const *sub; /* `kernel list`...: ends with NULL */
};

/* cmd_*.c */
extern const struct cli_command cli_connect, cli_halt, cli_quarantine, cli_inspect, cli_result,
	cli_events, cli_profiles;
extern const struct cli_command cli_run, cli_create, cli_start, cli_status, cli_exec, cli_stop,
	cli_kill, cli_delete, cli_list, cli_logs, cli_doctor, cli_host, cli_kernel, cli_image,
	cli_version, cli_help, cli_contract, cli_balloon, cli_network, cli_cp, cli_artifacts,
	cli_ls, cli_clone, cli_base, cli_session, cli_audit, cli_audit_telemetry, cli_pool,
	cli_guest_bundle, cli_perf, cli_mcp, cli_setup;

/* The table that `help` walks; ends with NULL. */
extern const struct cli_command *const cli_commands[];

/* Marks the error as the caller's (exit 2) and sets it, ERR_INVALID. Returns -1. */
int cli_usage(struct cli *cli, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with the error that a check of the library gave. */
int cli_usage_error(struct cli *cli, const struct error *why, struct error *err);

/*
 * Parses words against the command's table: "--name VALUE", "--name=VALUE", "-f", "-f VALUE"; the
 * global options are taken too, into cli. values points to values_size zeroed bytes. On failure (a
 * usage error that names the word, and the nearest known one) nothing needs freeing.
 * cli_values_free() drops what CLI_OPTION_LIST fields hold.
 */
int cli_parse(struct cli *cli, const struct cli_command *command, const char *const *words,
	      size_t count, void *values, struct cli_words *args, struct error *err);
void cli_values_free(const struct cli_command *command, void *values);

/* The options in front of the command word; *used is how many words they took. */
int cli_parse_global(struct cli *cli, const char *const *words, size_t count, size_t *used,
		     struct error *err);

/* Finds the entry of names (NULL-terminated) that word was probably meant to be: the nearest one
 * (base/nearest.h), else the only one that shares the first 3 letters. Returns NULL when there is
 * none. */
const char *cli_nearest(const char *word, const char *const *names);

/* Help of one command or of a group of commands (`kernel`) to out. parent is "kernel" for `kernel
 * list`, else NULL. */
void cli_print_help(FILE *out, const char *parent, const struct cli_command *command);
/* Help of the program: every command by group. */
void cli_print_overview(FILE *out);

/* The options of a command one after the other: shared ones, its own, a machine's; NULL at the end. command
 * may be NULL. */
const struct cli_option *cli_option_at(const struct cli_command *command, size_t index);
/* The one with a name of len letters, or with that letter; or NULL. */
const struct cli_option *cli_option_find(const struct cli_command *command, const char *name,
					 size_t len);
const struct cli_option *cli_option_letter(const struct cli_command *command, char letter);
/* Has as its options those that every command takes, before its own word or after it. */
extern const struct cli_command cli_any_command;
/* The word of that index in "auto|kvm|tcg", which is len bytes; NULL beyond the last, and in what
 * is no such list. */
const char *cli_choice_at(const char *value, size_t index, size_t *len);
bool cli_choice_has(const char *value, const char *text);

/* The command of that name in a table, or NULL. */
const struct cli_command *cli_find(const struct cli_command *const *commands, const char *name);

/* options.c: an error about a field of the request becomes one about the command's option, with the
 * value that was given (values as of cli_run_fn); or, where the command has no such option, about
 * the option of `create` by which the workspace got it. Returns whether the value of an option of
 * the command is all that is wrong. */
bool cli_name_options(const struct cli_command *command, const void *values, struct error *err);

/* complete.c: what the last of the words may go on as, a line each (docs/microagent.1.scd,
 * COMPLETION); all that goes wrong means that there is less of it. */
void cli_complete(FILE *out, const char *const *words, size_t count);

/* Everything between main()'s argv and its exit code but for printing the error: -1 leaves it in
 * err, and *guest_exit says whether the command's failures are 125 and go to stderr. */
int cli_dispatch(struct cli *cli, const char *const *words, size_t count, bool *guest_exit,
		 struct error *err);

/* --- output ---------------------------------------------------------------------------------- */

#define CLI_ITSELF 512
/* What a person is told to type begins so: "microagent", with the --state-dir that was given, as a
 * shell takes it; without that of sessions, whose own commands want the one above. NULL: of the cli
 * that was named by cli_speaks(). Returns out. Messages have "`microagent ", which becomes the same
 * where they are printed. */
void cli_speaks(const struct cli *cli);
const char *cli_itself(const struct cli *cli, char out[CLI_ITSELF]);
/* One line of JSON on stdout. The reference is borrowed. */
int cli_print_json(const json_t *value, struct error *err);
/*
 * For a command with a deadline, which holds for the reader of its output too. A reader is waited
 * for until read_by_ns (of clock_mono_ns(); UINT64_MAX: for ever), and then as long as it takes
 * some of the bytes every LIMIT_UNREAD_MS, LIMIT_EXEC_LATE_MS at most. Returns 0; 1: the rest was
 * given up, and nothing of it is left in a buffer; -1 with errno.
 */
int cli_write_by(FILE *out, const void *bytes, size_t len, uint64_t read_by_ns);
/* The same for one line of JSON on stdout. */
int cli_print_json_by(const json_t *value, uint64_t read_by_ns, struct error *err);
/* Whether something can be printed to stderr now without waiting for a reader. */
bool cli_stderr_is_read(void);
/* "microagent: MESSAGE\n" to out, and "microagent: hint: ...\n" where a next step is known
 * (hint.h); with --json {"ok":false,"error","errorCode","errorReason"?,"errorSubject"?,"hint"?}. */
void cli_print_error(const struct cli *cli, const struct error *err, FILE *out);
/* "microagent: warning: ...\n" on stderr. */
/* An error that does not end the command, as a warning with its hint; before: what stands in front.
 */
void cli_warn_error(const struct cli *cli, const char *before, const struct error *err);
void cli_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Whether stream is a terminal that may be coloured (NO_COLOR unset or empty, TERM not "dumb"). */
bool cli_colour(FILE *stream);
/* Text from a guest or a foreign file onto a terminal: control bytes become '?'. */
void cli_print_safe(FILE *out, const char *text);

/* Columns that line up: rows are collected, then printed. Control bytes in cells become '?'. */
struct cli_table {
	size_t columns;
	char **cells; /* row by row, the heads first */
	size_t count, room;
};
int cli_table_init(struct cli_table *table, size_t columns, const char *const *heads,
		   struct error *err);
/* cells: as many as columns; NULL prints "-". Copied. */
int cli_table_row(struct cli_table *table, const char *const *cells, struct error *err);
void cli_table_print(const struct cli_table *table, FILE *out);
void cli_table_free(struct cli_table *table); /* accepts a zeroed one */
#define auto_table __attribute__((cleanup(cli_table_free)))

/*
 * Progress of work that takes longer than a second: one line on stderr that is rewritten in place
 * and erased at the end, if stderr is a terminal; nothing at all otherwise. It appears one second
 * after progress_start() at the earliest, at the first call after that; call progress_tick() from a
 * wait that may be long (at least every 200 ms looks alive).
 */
struct progress {
	bool on;    /* stderr is a terminal */
	bool shown; /* a line is on the screen */
	uint64_t start_ns;
	uint64_t drawn_ns; /* last time; redrawn at most ten times a second */
	uint64_t done, total;
	char what[80];	 /* "building the kernel" */
	char detail[80]; /* last line of output, current file */
};
#define PROGRESS_INIT       \
	{                   \
		.on = false \
	}
void progress_start(struct progress *progress, const char *what);
/* done of total (any unit); total 0: unknown, a running clock is shown instead of a percentage. */
void progress_set(struct progress *progress, uint64_t done, uint64_t total);
void progress_detail(struct progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void progress_tick(struct progress *progress);
void progress_end(struct progress *progress); /* erases the line; also on failure */
#define autoprogress __attribute__((cleanup(progress_end)))

#endif
