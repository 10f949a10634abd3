/* SPDX-License-Identifier: MIT */
/* Runs foreign tools. Errors name the package of a missing tool, and quote the stderr of a failed
 * tool. */
#ifndef ARTIFACT_TOOL_H
#define ARTIFACT_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* The descriptors that a tool inherits in addition to 0, 1 and 2. Shells and make use lower
 * numbers. */
enum { TOOL_HOLD_FD = 9, TOOL_FILTER_FD };

struct proc_stage;

/* How many bytes a tool may have in two directories together. */
struct tool_room {
	uint64_t bytes;
	int dirs[2];
};

/* Called for each line of a tool's stdout, without its newline. */
typedef void tool_line_fn(void *data, const char *line);

struct tool {
	const char *name; /* its name in errors; NULL: argv[0] */
	const char *const *argv;
	const char *const *env; /* "NAME=VALUE"..., which are added to the environment of this
				 * process, NULL-terminated; NULL: none */
	bool lone_env;		/* env is the whole environment of the tool */
	const char *cwd;	/* its working directory; NULL: that of this process */
	int stdin_fd;		/* 0 or less: /dev/null */
	bool idle;		/* the tool runs at the lowest CPU priority */
	/* A directory. If it is set, the tool runs without any right and under TOOL_CALLS_ALONE. It
	 * can open only the system's programs and libraries, the files beside its own program, and
	 * the files in this directory. NULL: the tool runs like any other program. */
	const char *alone_with;
	bool writes; /* the tool may change the directory `alone_with`, and not only read it */
	bool sealed; /* the tool is in namespaces of its own, so it is killed at once when it must
		      * end: it has nothing to clean up */
	/* If the tool writes more bytes than this to these directories, it is ended. It cannot make
	 * a single file that is longer. NULL: there is no bound. */
	const struct tool_room *room;
	int hold;   /* a lock that the tool inherits as TOOL_HOLD_FD; 0: none */
	int filter; /* a file that the tool inherits as TOOL_FILTER_FD; 0: none */
	/* files that only the tool sees, under given names (proc_stage.h); NULL: none */
	const struct proc_stage *stage;
	struct buf *out;    /* gets the tool's stdout; NULL: `line` gets it */
	struct buf *errors; /* gets the tool's stderr; NULL: stderr is kept only for the message of
			     * an error */
	tool_line_fn *line; /* NULL, and `out` is NULL too: stdout is dropped */
	void *data;
};

/*
 * Runs the tool to its end, and draws the progress line meanwhile. The errors: ERR_IO, with the
 * last lines of the tool's stderr, if its exit code is not 0. ERR_NOT_FOUND, with the name of its
 * package, if the tool is not installed. ERR_INTERNAL if base/known_programs.h does not list the
 * tool. ERR_UNAVAILABLE if a signal asks this program to end; the tool is then ended. ERR_INVALID
 * with REASON_IMAGE_TOO_SMALL if the tool has written more bytes than its room. ERR_IO if the disk
 * of the host would be full.
 */
int tool_run(const struct tool *tool, struct error *err);

/* Sets the error of a tool that has written all the bytes that it may write. Returns -1. */
int tool_room_exceeded(uint64_t bytes, struct error *err);

/* Checks that all tools of a NULL-terminated list are installed. The error names every missing
 * tool, and the command that installs them. */
int tool_require(const char *what, const char *const *names, struct error *err);

/* Removes all entries of PATH that are not absolute, and adds /usr/sbin and the like, which the
 * PATH of an ordinary user does not have. */
int tool_extend_path(struct error *err);

#endif
