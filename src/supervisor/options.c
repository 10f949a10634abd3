/* SPDX-License-Identifier: MIT */
#include "supervisor/options.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/fd.h"

const char options_live_prefix[] = "--live-supervisor-of-workspace=";

static int take_open_fd(void *field, const char *value, struct error *err)
{
	uint64_t fd;

	if (command_line_number(value, STDERR_FILENO + 1, 1 << 20, &fd, err) < 0)
		return -1;
	if (fcntl((int)fd, F_GETFD) < 0)
		return error_set(
			err, ERR_INVALID,
			"descriptor %d is not open: the program that starts the supervisor must hand it over",
			(int)fd);
	if (fd_cloexec((int)fd, true, err) < 0)
		return -1;
	*(int *)field = (int)fd;
	return 0;
}

static int take_cell_number(void *field, const char *value, struct error *err)
{
	uint64_t number;

	if (command_line_number(value, 1, 4194304, &number, err) < 0)
		return -1;
	*(int64_t *)field = (int64_t)number;
	return 0;
}

#define AT(field) offsetof(struct options, field)

static const struct option_row rows[] = {
	{"lifeline-fd", "N", take_open_fd, AT(lifeline_fd),
	 "run, start: end the VM when descriptor N reaches its end; with start, a byte that is read from it lets the VM go on without it"},
	{"events-fd", "N", take_open_fd, AT(events_fd),
	 "run: write each event to descriptor N when it is recorded, one on a line"},
	{"attach", NULL, option_given, AT(attach),
	 "run: the workload starts when a client attaches to the agent"},
	{"remove", NULL, option_given, AT(remove), "run: remove the workspace at the end"},
	{"print-capabilities", NULL, option_given, AT(capabilities),
	 "print what this backend does, and read no request"},
	{"macos", NULL, option_given, AT(macos),
	 "make the files of a macOS guest: read one job, which is a line, from stdin, and end when it is done"},
	{"reader", NULL, option_given, AT(reader),
	 "run: mount the root disk only to read files from it; no program on it is run"},
	{"writer", NULL, option_given, AT(writer),
	 "run: the same, to read files from it and to write files to it"},
	{"template-new", NULL, option_given, AT(save),
	 "start: a machine of which the request \"save\" on control.sock makes a template"},
	{"template", "DIR", option_text, AT(template),
	 "start: restore the machine from the template in DIR, if the template fits"},
	{"own-memory", NULL, option_given, AT(own_memory),
	 "start --template: give the machine its own memory, so that a directory can be shared later"},
	{"containers-fd", "N", take_open_fd, AT(containers_fd),
	 "start: share the directory that is open as N with the guest, for containers: ids are not mapped, and the guest sees what is mounted there later"},
	{"links-fd", "N", take_open_fd, AT(links_fd),
	 "start: give the machine the network cards of the document that is open as N; descriptors from --taps-fd on are their taps"},
	{"taps-fd", "N", take_open_fd, AT(taps_fd), "start: see --links-fd"},
	{"loopback-fd", "N", take_open_fd, AT(loopback_fd),
	 "start: lead each connection to the listener that is open as N to the same port of the guest"},
	{"cell-number", "N", take_cell_number, AT(cell_number),
	 "start: a number that no other machine of this host has; it is used in place of the supervisor's pid"},
	{"recorded", NULL, option_given, AT(recorded),
	 "prepare, start, console: use the recorded config; from the config of the request only stateDir is used, and confinement if it is to change"},
	{"keep-reviews", NULL, option_given, AT(keep_reviews),
	 "prepare: keep the image of a reviewed directory that the workspace has already"},
	{"keep-quarantined", NULL, option_given, AT(keep_quarantined),
	 "halt, stop, kill, delete: fail if the workspace is in quarantine"},
	{"full", NULL, option_given, AT(full),
	 "inspect: compute a new digest of the root file system"},
	{"help", NULL, option_given, AT(help), "show this text"},
	{"version", NULL, option_given, AT(version), "show the version"},
};

int options_parse(int argc, char **argv, struct options *out, struct error *err)
{
	struct options parsed = {.lifeline_fd = -1,
				 .events_fd = -1,
				 .containers_fd = -1,
				 .links_fd = -1,
				 .taps_fd = -1,
				 .loopback_fd = -1};
	size_t prefix = strlen(options_live_prefix);

	if (argc == 2 && !strncmp(argv[1], options_live_prefix, prefix)) {
		parsed.live = argv[1] + prefix;
		*out = parsed;
		return 0;
	}
	if (command_line_parse(rows, ARRAY_SIZE(rows), argc, argv, &parsed, NULL, err) < 0)
		return -1;
	*out = parsed;
	return 0;
}

void options_help(const char *program)
{
	printf("usage: %s [OPTION]... < REQUEST\n\n", program);
	puts("Reads one JSON request from stdin, acts on it, and writes one JSON answer to\n"
	     "stdout. Diagnostics go to stderr. Exit code 0: the answer says ok; 75: trying\n"
	     "again may help; 1: otherwise.\n");
	command_line_help(rows, ARRAY_SIZE(rows));
}
