/* SPDX-License-Identifier: MIT */
/* The options of the command line. A caller can give them in addition to the request on stdin. */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct options {
	/* For run and start: the reading end of a pipe. When the pipe ends, the machine is ended.
	 * -1: there is no pipe. */
	int lifeline_fd;
	int events_fd;	   /* the descriptor to which each recorded event is written as a line; -1:
			    * there is none */
	bool attach;	   /* the workload waits for a client on the agent's port */
	bool remove;	   /* the workspace is removed when its machine has ended */
	bool capabilities; /* the program prints what its backend can do, and reads no request */
	bool macos;	   /* the program makes the files of a macOS guest, as the job on stdin
		      * requires */
	bool reader;	   /* the machine only reads its root disk (VM_READ) */
	bool writer;	   /* the machine puts files on its root disk (VM_WRITE) */
	bool save;	   /* for start: the machine can be saved as a template */
	/* For start: the directory of the template from which the machine is restored; NULL: there
	 * is none. */
	const char *template;
	/* With `template`: the machine has its own memory, so it can get shares later. */
	bool own_memory;
	int containers_fd; /* for start: the descriptor of the directory of containers; -1: there is
			    * none */
	/* For start: links_fd is the descriptor of a document that lists the network cards. taps_fd
	 * is the first of the descriptors of their taps. -1: there are none. */
	int links_fd, taps_fd;
	/* For start: the descriptor of a socket that listens on the host's loopback. A connection
	 * to this socket is led to the same port on the guest's loopback. -1: there is none. */
	int loopback_fd;
	/* For start: the number from which the ids of the machine's cells are made. The caller
	 * gives the number if it runs in a pid namespace of its own, where pids of several machines
	 * can be equal. 0: the ids are made from the pid of the live supervisor. */
	int64_t cell_number;
	bool keep_quarantined; /* for halt, stop, kill and delete: they refuse a workspace in
			        * quarantine */
	bool keep_reviews;     /* for prepare: reviewed directories are not taken anew */
	bool recorded;	       /* for prepare, start and console: they use the recorded config */
	bool full;	       /* for inspect: a new digest of the root file system is computed */
	bool help, version;
	/* For a live supervisor: the <stateDir>/<runtimeID> of its workspace. NULL: the program is
	 * not a live supervisor. */
	const char *live;
};

/* Reads the options. Checks that each given descriptor is open, and makes it close-on-exec.
 * ERR_INVALID: an option is wrong, and the message names the option. */
int options_parse(int argc, char **argv, struct options *out, struct error *err);
void options_help(const char *program); /* prints the help on stdout */
/* The text before <stateDir>/<runtimeID> in the command line of a live supervisor. */
extern const char options_live_prefix[];

#endif
