/* SPDX-License-Identifier: MIT */
/* microagent-oci: an OCI runtime that makes a virtual machine for each container, or for each pod.
 * This file parses the global options and runs the command. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/program.h"
#include "oci/flags.h"
#include "oci/oci.h"
#include "oci/standin.h"

static const struct oci_command commands[] = {
	{"create", "make a container, which waits for its start", cmd_create, 1, 1},
	{"start", "let the program of a container begin", cmd_start, 1, 1},
	{"run", "create and start, and wait for the end", cmd_run, 1, 1},
	{"state", "the state of a container, as JSON", cmd_state, 1, 1},
	{"list", "the containers below --root", cmd_list, 0, 0},
	{"kill", "send a signal to a container's first process", cmd_kill, 1, 2},
	{"delete", "remove a container that has stopped", cmd_delete, 1, 1},
	{"exec", "run a command in a container", cmd_exec, 1, OCI_WORDS_ANY},
	{"ps", "the processes of a container", cmd_ps, 1, 1},
	{"pause", "let every process of a container stand still", cmd_pause, 1, 1},
	{"resume", "let them go on", cmd_resume, 1, 1},
	{"update", "change the limits of a container", cmd_update, 1, 1},
	{"events", "the figures of a container", cmd_events, 1, 1},
	{"features", "the features of this runtime, as JSON; --table: what it does with each field",
	 cmd_features, 0, 0},
	{"quarantine", "cut every channel of a container's machine; the machine goes on",
	 cmd_quarantine, 1, 1},
};

static int print_usage(void)
{
	printf("usage: " OCI_PROGRAM " [GLOBAL OPTION]... COMMAND [OPTION]... [ID] [WORD]...\n\n"
	       "An OCI runtime whose containers, or pods of them, are virtual machines.\n"
	       "Global options: --root DIR, --log FILE, --log-format text|json, --debug,\n"
	       "--systemd-cgroup, --version, --help.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %-11s %s\n", commands[i].name, commands[i].summary);
	return 0;
}

static char *default_root(struct error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *root = NULL;

	if (geteuid() == 0 || !runtime || *runtime != '/')
		root = strdup("/run/" OCI_PROGRAM);
	else if (asprintf(&root, "%s/" OCI_PROGRAM, runtime) < 0)
		root = NULL;
	if (!root)
		error_set(err, ERR_IO, "out of memory");
	return root;
}

static int dispatch(struct oci *oci, char **words, struct error *err)
{
	static const char *const absent[] = {"spec", "checkpoint", "restore"};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(*words, commands[i].name) == 0) {
			oci->command = &commands[i];
			return commands[i].run(oci, words + 1, err);
		}
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		if (strcmp(*words, absent[i]) == 0)
			return error_set(
				err, ERR_UNSUPPORTED,
				"%s is not a command of this runtime: --help lists its commands",
				*words);
	return error_set(err, ERR_INVALID, "no command %.64s: " OCI_PROGRAM " --help lists them",
			 *words);
}

/* Makes the path of the log absolute. The keeper and the stand-ins write to the log too, and have
 * other working directories. */
static int name_log(struct oci *oci, struct error *err)
{
	static char path[PATH_MAX]; /* static, since main() may write to the log at its end */

	if (!oci->log || !*oci->log)
		return 0;
	autofree char *whole = path_absolute(oci->log, err);
	if (!whole)
		return -1;
	if ((size_t)snprintf(path, sizeof(path), "%s", whole) >= sizeof(path))
		return error_errno(err, ENAMETOOLONG, "--log %.200s", whole);
	oci->log = path;
	return 0;
}

static int run_parsed(struct oci *oci, char **words, struct error *err)
{
	bool version = false, help = false;
	const char *manager = NULL, *root = NULL;
	const struct flag flags[] = {
		{"root", NULL, FLAG_TEXT, &root},
		{"log", NULL, FLAG_TEXT, &oci->log},
		{"log-format", NULL, FLAG_TEXT, &oci->log_format},
		{"debug", NULL, FLAG_GIVEN, &oci->debug},
		{"systemd-cgroup", NULL, FLAG_GIVEN, &oci->systemd},
		{"cgroup-manager", NULL, FLAG_TEXT, &manager},
		{"criu", NULL, FLAG_IGNORED_TEXT, NULL},
		{"rootless", NULL, FLAG_IGNORED_TEXT, NULL},
		{"version", "v", FLAG_GIVEN, &version},
		{"help", "h", FLAG_GIVEN, &help},
	};

	if (flags_parse(flags, ARRAY_SIZE(flags), &words, err) < 0)
		return -1;
	if (version) {
		printf(OCI_PROGRAM " version " MICROAGENT_VERSION "\ncommit: " MICROAGENT_VERSION
				   "\nspec: " OCI_SPEC "\n");
		return 0;
	}
	if (help || !*words)
		return print_usage();
	if (oci->log_format && strcmp(oci->log_format, "text") != 0 &&
	    strcmp(oci->log_format, "json") != 0)
		return error_set(err, ERR_INVALID, "--log-format must be text or json");
	oci->systemd = oci->systemd || (manager && strcmp(manager, "systemd") == 0);
	if (name_log(oci, err) < 0)
		return -1;
	autofree char *given = root ? path_absolute(root, err) : default_root(err);
	if (!given)
		return -1;
	/* Resolves links, since the records and mounts contain the directory's path, and this path
	 * must always be the same. */
	autofree char *real = realpath(given, NULL);
	oci->root = real ? real : given;
	int code = dispatch(oci, words, err);
	oci->root = NULL;
	return code;
}

int main(int argc, char **argv)
{
	struct oci oci = {0};
	struct error err = {0};
	int code;

	(void)argc;
	signal(SIGPIPE, SIG_IGN);
	if (fd_fill_standard(&err) < 0 || program_clean_path(&err) < 0)
		return 1;
	if (argv[0] && strncmp(argv[0], STANDIN_TITLE, strlen(STANDIN_TITLE)) == 0)
		return standin_main();
	if (argv[0] && strncmp(argv[0], KEEPER_TITLE, strlen(KEEPER_TITLE)) == 0)
		return keeper_main();
	code = run_parsed(&oci, argv + 1, &err);
	if (code < 0)
		oci_log(&oci, "error", "%s", err.msg);
	if (fflush(stdout) != 0 && code == 0)
		return 1;
	return code < 0 ? 1 : code;
}
