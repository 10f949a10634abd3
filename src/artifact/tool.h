/* SPDX-License-Identifier: MIT */
/* Runs foreign tools. Errors name the package of a missing tool, and quote what a failed tool said.
 */
#ifndef ARTIFACT_TOOL_H
#define ARTIFACT_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* The descriptors that a tool inherits besides 0 to 2. They are above those that shells and make
 * use. */
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
	const char *const *env; /* "NAME=VALUE"... NULL, added to our environment; NULL: none */
	bool lone_env;		/* env is the whole environment */
	const char *cwd;	/* its working directory; NULL: ours */
	int stdin_fd;		/* 0 or less: /dev/null */
	bool idle;		/* it runs at the lowest CPU priority */
	/* A directory. The tool runs without any right and under TOOL_CALLS_ALONE. It can open only
	 * the system's programs and libraries, the files beside its own program, and the files in
	 * this directory. NULL: none of this holds. */
	const char *alone_with;
	bool writes; /* it may change that directory, and not only read it */
	bool sealed; /* it is in namespaces of its own, and has nothing to clean up */
	/* The tool is ended when it has written more than this, and it can make no longer file.
	 * NULL: there is no bound. */
	const struct tool_room *room;
	int hold;   /* a lock that the tool inherits as TOOL_HOLD_FD; 0: none */
	int filter; /* a file that the tool inherits as TOOL_FILTER_FD; 0: none */
	/* files that only the tool sees, at given names; NULL: none */
	const struct proc_stage *stage;
	struct buf *out;    /* the tool's stdout; NULL: see line */
	struct buf *errors; /* the tool's stderr; NULL: kept for the message alone */
	tool_line_fn *line; /* NULL: stdout is dropped */
	void *data;
};

/*
 * Runs the tool to its end, and draws the progress line meanwhile. An exit code other than 0 is
 * ERR_IO with the last lines of the tool's stderr. A tool that is not installed is ERR_NOT_FOUND
 * with the name of its package. A tool that base/known_programs.h does not list is ERR_INTERNAL. A
 * signal to this program ends the tool and is ERR_UNAVAILABLE. Too many bytes in its room are
 * ERR_INVALID and REASON_IMAGE_TOO_SMALL. A disk that would be full is ERR_IO.
 */
int tool_run(const struct tool *tool, struct error *err);

/* Sets the error of a tool that has written all the bytes that it may write. Returns -1. */
int tool_room_exceeded(uint64_t bytes, struct error *err);

/* Checks that all tools of a NULL-terminated list are installed. The error names every missing
 * tool, and the command that installs them. */
int tool_require(const char *what, const char *const *names, struct error *err);

/* Reduces PATH to its absolute entries, and adds the administrator's directories, which are not in
 * the PATH of an ordinary user. */
int tool_extend_path(struct error *err);

#endif
