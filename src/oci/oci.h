/* SPDX-License-Identifier: MIT */
/* What every command of microagent-oci knows, and the list of commands. */
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
	const char *root;		   /* where the records are; absolute */
	const char *log;		   /* NULL: none */
	const char *log_format;		   /* NULL: text */
	bool debug;
	bool mute;    /* stderr belongs to the container */
	int log_fd;   /* from oci_log_keep(); 0: none */
	bool systemd; /* cgroupsPath has the form of systemd */
};

/* Runs a command. words are the words after the command's name and end with NULL. Returns the exit
 * code; -1 with an error. */
typedef int oci_command_fn(const struct oci *oci, char **words, struct error *err);

struct oci_command {
	const char *name, *summary;
	oci_command_fn *run;
	size_t least, most; /* how many words it takes, besides options */
};
#define OCI_WORDS_ANY SIZE_MAX /* the words after the first are a command line of their own */

oci_command_fn cmd_create, cmd_run, cmd_start, cmd_state, cmd_list, cmd_kill, cmd_delete, cmd_exec,
	cmd_ps, cmd_pause, cmd_resume, cmd_update, cmd_events, cmd_features, cmd_quarantine;

/* Opens the log once, for a process that will not find it by its name later. */
void oci_log_keep(struct oci *oci);
/* Writes a line to the log, in the form that engines read. An error also goes to stderr. level is
 * "error", "warning", "info" or "debug"; "debug" is written only with --debug. */
void oci_log(const struct oci *oci, const char *level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
