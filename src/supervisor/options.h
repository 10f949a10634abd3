/* SPDX-License-Identifier: MIT */
/* The options of the command line, which a caller gives in addition to the request on stdin. */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct options {
	int lifeline_fd;   /* for run and start: the VM is ended when this pipe ends; -1: none */
	int events_fd;	   /* gets a line for each event that is recorded; -1: none */
	bool attach;	   /* the workload waits for a client on the agent's port */
	bool remove;	   /* the workspace is removed when everything has ended */
	bool capabilities; /* the program prints what its backend can do, and reads no request */
	bool macos;  /* the program makes the files of a macOS guest, as the job on stdin says */
	bool reader; /* the machine only reads its root disk (VM_READ) */
	bool writer; /* the machine puts files on its root disk (VM_WRITE) */
	bool save;   /* for start: the machine can be saved */
	const char *template; /* for start: the directory of the template to restore; NULL: none */
	bool own_memory;   /* with `template`: the machine has its own memory, and can get shares */
	int containers_fd; /* for start: the directory of containers; -1: none */
	/* For start: the list of cards, and the first of their taps; -1: none. */
	int links_fd, taps_fd;
	int loopback_fd; /* for start: the listener on a loopback; -1: none */
	/* For start: the number from which the ids of cells are made, if the caller has its own pid
	 * namespace; 0: the pid of the live supervisor. */
	int64_t cell_number;
	bool keep_quarantined; /* for kill and delete: they refuse a workspace in quarantine */
	bool recorded;	       /* for prepare, start and console: they use the recorded config */
	bool full;	       /* for inspect: the root file system is hashed anew */
	bool help, version;
	/* The program is the live supervisor of this <stateDir>/<runtimeID>; NULL: it is not. */
	const char *live;
};

/* Reads the options. Checks that each descriptor is open and makes it close-on-exec. ERR_INVALID
 * names the option. */
int options_parse(int argc, char **argv, struct options *out, struct error *err);
void options_help(const char *program); /* prints the help on stdout */
/* The text in the live supervisor's command line before its <stateDir>/<runtimeID>. */
extern const char options_live_prefix[];

#endif
