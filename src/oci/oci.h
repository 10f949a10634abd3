/* SPDX-License-Identifier: MIT */
/* What every command of microagent-oci knows, and the commands. */
#ifndef OCI_OCI_H
#define OCI_OCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define OCI_PROGRAM "microagent-oci"
#define OCI_SPEC "1.3.0"

/* The global options. Strings are of argv. */
struct oci_command;
struct oci {
	const struct oci_command *command; /* the one that is run */
	const char *root;		   /* where the records are; absolute */
	const char *log;		   /* NULL: none */
	const char *log_format;		   /* NULL: text */
	bool debug;
	bool mute;    /* stderr is the container's */
	int log_fd;   /* of oci_log_keep(); 0: none */
	bool systemd; /* cgroupsPath has the form of systemd */
};

/* words: those behind the command, ended by NULL. The exit code, or -1 and err. */
typedef int oci_command_fn(const struct oci *oci, char **words, struct error *err);

struct oci_command {
	const char *name, *summary;
	oci_command_fn *run;
	size_t least, most; /* words of it, beside its options */
};
#define OCI_WORDS_ANY SIZE_MAX /* what is behind the first is a command line of its own */

oci_command_fn cmd_create, cmd_run, cmd_start, cmd_state, cmd_list, cmd_kill, cmd_delete, cmd_exec,
	cmd_ps, cmd_pause, cmd_resume, cmd_update, cmd_events, cmd_features, cmd_quarantine;

/* Opens the log once for all, for who will not find it by its name later. */
void oci_log_keep(struct oci *oci);
/* A line of the log, as engines read it; also on stderr where it is an error. level: "error",
 * "warning", "info" or "debug", of which the last is for --debug alone. */
void oci_log(const struct oci *oci, const char *level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
