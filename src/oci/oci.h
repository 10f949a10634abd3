/* SPDX-License-Identifier: MIT */
/* The global options, which every command of microagent-oci has, and the list of commands. */
#ifndef OCI_OCI_H
#define OCI_OCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define OCI_PROGRAM "microagent-oci"
#define OCI_SPEC "1.3.0"

/* The global options. The strings belong to argv. */
struct oci_command;
struct oci {
	const struct oci_command *command; /* the command that is run */
	/* the absolute path of the directory that has all records */
	const char *root;
	const char *log;	/* the path of the log; NULL: none */
	const char *log_format; /* "text" or "json"; NULL: text */
	bool debug;
	/* true: no line is written to stderr, since stderr belongs to the container */
	bool mute;
	int log_fd;   /* the descriptor that oci_log_keep() has opened; 0: none */
	bool systemd; /* true: cgroupsPath has the form of systemd */
};

/* Runs a command. `words` has the words after the command's name, and ends with NULL. Returns the
 * exit code, or -1 with an error. */
typedef int oci_command_fn(const struct oci *oci, char **words, struct error *err);

struct oci_command {
	const char *name, *summary;
	oci_command_fn *run;
	size_t least, most; /* the smallest and largest number of words that are not options */
};
/* The value of `most` for a command that takes any number of words: the words after the first are
 * the command line of another program. */
#define OCI_WORDS_ANY SIZE_MAX

oci_command_fn cmd_create, cmd_run, cmd_start, cmd_state, cmd_list, cmd_kill, cmd_delete, cmd_exec,
	cmd_ps, cmd_pause, cmd_resume, cmd_update, cmd_events, cmd_features, cmd_quarantine;

/* Opens the log and keeps it open, for a process that later gives up access to the file. */
void oci_log_keep(struct oci *oci);
/* Writes a line to the log, in the form that engines read. `level` is "error", "warning", "info" or
 * "debug". An error is also written to stderr. A line of the level "debug" is written only with
 * --debug. */
void oci_log(const struct oci *oci, const char *level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
