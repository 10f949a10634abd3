/* SPDX-License-Identifier: MIT */
/* Runs foreign tools. An error about a missing tool names the package of the tool, and an error
 * about a failed tool has the end of the tool's stderr. */
#ifndef ARTIFACT_TOOL_H
#define ARTIFACT_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* The numbers of the descriptors that a tool inherits in addition to 0, 1 and 2. Shells and make
 * themselves use smaller numbers. */
enum { TOOL_HOLD_FD = 9, TOOL_FILTER_FD };

struct proc_stage;

/* The largest number of bytes that a tool may write to two directories together. `dirs` has the
 * descriptors of these directories. */
struct tool_room {
	uint64_t bytes;
	int dirs[2];
};

/* A function that gets each line of a tool's stdout, without its newline. */
typedef void tool_line_fn(void *data, const char *line);

struct tool {
	const char *name; /* name of the tool in errors; NULL: argv[0] is the name */
	const char *const *argv;
	const char *const *env; /* texts "NAME=VALUE" that are added to the environment of this
				 * process; the array ends with NULL; NULL: nothing is added */
	bool lone_env;		/* `env` is the whole environment of the tool, and the environment
				 * of this process is not used */
	const char *cwd;	/* the tool's working directory; NULL: the working directory of this
				 * process */
	int stdin_fd;		/* descriptor that becomes the tool's stdin; 0 or less: stdin is
				 * /dev/null */
	bool idle;		/* the tool runs at the lowest CPU priority */
	/* Path of a directory. If this path is set, the tool runs without capabilities, and may
	 * make only the system calls of TOOL_CALLS_ALONE. The tool can then open only the host's
	 * programs and libraries, the files beside its program, and the files in this directory.
	 * NULL: the tool is not confined. */
	const char *alone_with;
	bool writes; /* the tool may also write in the directory `alone_with` */
	bool sealed; /* the tool is in separate namespaces and has nothing to clean up, so it gets
		      * SIGKILL without a SIGTERM before when it must end */
	/* The bound on the bytes that the tool writes to two directories. A tool that exceeds the
	 * bound is killed. The tool also cannot make a single file that is longer than the bound.
	 * NULL: no bound. */
	const struct tool_room *room;
	int hold;   /* descriptor of a lock, which the tool inherits as TOOL_HOLD_FD; 0: no lock */
	int filter; /* descriptor of a file, which the tool inherits as TOOL_FILTER_FD; 0: no
		     * file */
	/* files that only the tool sees, under fixed names (proc_stage.h); NULL: none */
	const struct proc_stage *stage;
	struct buf *out;    /* the tool's stdout is appended to `out`; NULL: stdout is passed to
			     * `line` */
	struct buf *errors; /* the tool's stderr is appended to `errors`; NULL: stderr is used only
			     * for the message of an error */
	tool_line_fn *line; /* gets each line of stdout if `out` is NULL; if both are NULL, stdout
			     * is dropped */
	void *data;
};

/*
 * Runs the tool to its end, and draws the progress line meanwhile. ERR_IO: the tool's exit code is
 * not 0, and the message has the last lines of its stderr; or the host's disk is nearly full.
 * ERR_NOT_FOUND: the tool is not installed, and the message names its package. ERR_INTERNAL:
 * base/known_programs.h does not list the tool. ERR_UNAVAILABLE: a signal asked this program to
 * end, and the tool was killed. ERR_INVALID with REASON_IMAGE_TOO_SMALL: the tool has written more
 * bytes than tool->room allows.
 */
int tool_run(const struct tool *tool, struct error *err);

/* Sets the error for a tool that has written as many bytes as it may write, which is `bytes`.
 * Returns -1. */
int tool_room_exceeded(uint64_t bytes, struct error *err);

/* Checks that all tools in a list that ends with NULL are installed. If not, the error names every
 * missing tool, and the command that installs them. */
int tool_require(const char *what, const char *const *names, struct error *err);

/* Removes all relative entries from PATH. Adds directories such as /usr/sbin, which are not in the
 * PATH of an ordinary user. */
int tool_extend_path(struct error *err);

#endif
