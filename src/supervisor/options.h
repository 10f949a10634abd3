/* SPDX-License-Identifier: MIT */
/* The few options beside the request on stdin: descriptors and wishes of the caller of `run`. */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct options {
	int lifeline_fd;       /* run, start: its end ends the VM; -1: none */
	int events_fd;	       /* one event a line as it is recorded; -1: none */
	bool attach;	       /* the workload waits for a client on the agent's port */
	bool remove;	       /* the workspace goes when all is over */
	bool capabilities;     /* print what this backend does, and read no request */
	bool macos;	       /* make the files of a macOS guest, by a job on stdin */
	bool reader;	       /* the root disk is looked at from outside: VM_READ */
	bool writer;	       /* ... and written to: VM_WRITE */
	bool save;	       /* start: the machine can be saved */
	const char *template;  /* start: the directory of one that the machine is restored from */
	bool own_memory;       /* ... with memory of its own, so that it can be given a directory */
	int containers_fd;     /* start: the directory of containers; -1: none */
	int links_fd, taps_fd; /* start: what cards there are, and the first of their taps; -1 */
	int loopback_fd;       /* start: the listener of a loopback; -1: none */
	int64_t cell_number;   /* start: of who calls from a pid namespace of its own; 0: none */
	bool keep_quarantined; /* kill and delete refuse what is in quarantine */
	bool recorded;	       /* prepare, start, console: the config is the recorded one */
	bool full;	       /* inspect hashes the root file system anew */
	bool help, version;
	const char *live; /* <stateDir>/<runtimeID>: this process is the live supervisor of it */
};

/* Descriptors are checked to be open and made close-on-exec. ERR_INVALID names the option. */
int options_parse(int argc, char **argv, struct options *out, struct error *err);
void options_help(const char *program); /* on stdout */
/* The word in front of the label in the live supervisor's command line. */
extern const char options_live_prefix[];

#endif
