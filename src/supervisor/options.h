/* SPDX-License-Identifier: MIT */
/* The options that a caller gives beside the request on stdin: descriptors and wishes. */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct options {
	int lifeline_fd;       /* run, start: the VM ends when it ends; -1: none */
	int events_fd;	       /* gets each event as it is recorded, one a line; -1: none */
	bool attach;	       /* the workload waits for a client on the agent's port */
	bool remove;	       /* the workspace is removed when all has ended */
	bool capabilities;     /* print what this backend can do, and read no request */
	bool macos;	       /* make the files of a macOS guest, by a job on stdin */
	bool reader;	       /* the root disk is only read (VM_READ) */
	bool writer;	       /* files are put on the root disk (VM_WRITE) */
	bool save;	       /* start: the machine can be saved */
	const char *template;  /* start: directory of the template to restore from */
	bool own_memory;       /* with template: own memory, so that it can get a share */
	int containers_fd;     /* start: the directory of containers; -1: none */
	int links_fd, taps_fd; /* start: list of cards, first of their taps; -1: none */
	int loopback_fd;       /* start: the listener of a loopback; -1: none */
	int64_t cell_number;   /* start: if the caller has its own pid namespace; 0: none */
	bool keep_quarantined; /* kill and delete refuse a quarantined workspace */
	bool recorded;	       /* prepare, start, console: the config is the recorded one */
	bool full;	       /* inspect hashes the root file system anew */
	bool help, version;
	const char *live; /* this process is the live supervisor of this <stateDir>/<runtimeID> */
};

/* Reads the options. Checks that each descriptor is open and makes it close-on-exec. ERR_INVALID
 * names the option. */
int options_parse(int argc, char **argv, struct options *out, struct error *err);
void options_help(const char *program); /* prints the help on stdout */
/* The word in front of the label in the live supervisor's command line. */
extern const char options_live_prefix[];

#endif
