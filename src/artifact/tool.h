/* SPDX-License-Identifier: MIT */
/* Running the tools of others: which package a missing one is in, what they said when they failed.
 */
#ifndef ARTIFACT_TOOL_H
#define ARTIFACT_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* What a tool inherits besides 0 to 2, above what shells and make use. */
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
	const char *name; /* for errors; NULL: argv[0] */
	const char *const *argv;
	const char *const *env; /* "NAME=VALUE"... NULL, on top of ours; NULL: none */
	bool lone_env;		/* env is all of it */
	const char *cwd;	/* NULL: ours */
	int stdin_fd;		/* 0 or less: /dev/null */
	bool idle;		/* at the lowest CPU priority */
	/* A directory. The tool runs without a right and under TOOL_CALLS_ALONE, and opens nothing
	 * but the system's programs and libraries, what is beside its own program, and what is in
	 * this directory. NULL: nothing of this holds. */
	const char *alone_with;
	bool writes; /* it may change what is in that directory, and not only read it */
	bool sealed; /* in namespaces of its own: there is nothing for it to clean up */
	/* The tool is ended when it has more there, and can make no file longer than that. NULL:
	 * there is no bound. */
	const struct tool_room *room;
	int hold;   /* a lock that the tool inherits as TOOL_HOLD_FD; 0: none */
	int filter; /* a file that the tool inherits as TOOL_FILTER_FD; 0: none */
	const struct proc_stage *stage; /* files at names for it alone; NULL: none */
	struct buf *out;		/* the tool's stdout; NULL: see line */
	struct buf *errors;		/* the tool's stderr; NULL: kept for the message alone */
	tool_line_fn *line;		/* NULL: stdout is dropped */
	void *data;
};

/*
 * Runs the tool to its end, drawing the progress line meanwhile. An exit code other than 0 is
 * ERR_IO with the last lines of its stderr; a tool that is not installed is ERR_NOT_FOUND with the
 * package that has it, and one whose name is not in base/known_programs.h ERR_INTERNAL. A signal to us ends the tool and is ERR_UNAVAILABLE. Too much in its room is
 * ERR_INVALID and REASON_IMAGE_TOO_SMALL; a disk that would be full is ERR_IO.
 */
int tool_run(const struct tool *tool, struct error *err);

/* The error of a tool that has written as many bytes as it may. */
int tool_room_exceeded(uint64_t bytes, struct error *err);

/* Refuses with one message that names every missing tool of a NULL-terminated list, and the command
 * that installs them. */
int tool_require(const char *what, const char *const *names, struct error *err);

/* The absolute entries of PATH with the administrator's directories, where an ordinary user's shell
 * does not look. */
int tool_extend_path(struct error *err);

#endif
