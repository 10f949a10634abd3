/* SPDX-License-Identifier: MIT */
/*
 * Runs a foreign tool in a cell, because its input comes from outside. bubblewrap gives the tool a
 * root of its own with the system's programs and libraries, and with the files that are named here.
 * The tool sees no process and no socket of the host, and can gain no rights.
 */
#ifndef ARTIFACT_CELL_H
#define ARTIFACT_CELL_H

#include <stdbool.h>

#include "artifact/tool.h"

/* The things that a tool has in its cell. */
struct tool_cell {
	/* The tool may read the user's settings for registries. If it also has the network, it may
	 * read the user's logins too. If it has no network, and root runs this program, it may read
	 * the files of other users. */
	bool settings;
	/* a path that the tool may read, at the same path as on the host; NULL: none */
	const char *source;
	const char *link; /* name of a link to source in the tool's working directory; NULL: none */
	bool network;
	/* An absolute path of a directory, in which the names `out` and `temporary` are two
	 * directories. The tool sees only these two, and can write to both. It sees `out` under the
	 * same name in its working directory, and `temporary` as its place for temporary files. */
	const char *dir;
	const char *out;
	const char *temporary;
	/* How many bytes the tool may write to these two directories together; 0: any number. If it
	 * writes more, it is ended, with ERR_INVALID and REASON_IMAGE_TOO_SMALL. */
	uint64_t room;
	bool unconfined; /* the tool runs in no cell, because the user wants this */
	/* If no cell can be made, the tool runs without one, because apt has verified its input. */
	bool vouched;
};

/* Runs the tool's argv in the cell. Its environment has the variables of this process that such a
 * tool needs, and the tool's own variables. Without a cell, the tool's working directory is dir.
 * ERR_UNAVAILABLE with REASON_NO_CELL if no cell can be made; else the errors of tool_run(). */
int cell_run(const struct tool_cell *cell, const struct tool *tool, struct error *err);

#endif
