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

struct tool_cell {
	/* The tool reads the user's settings for registries. With the network it also reads the
	 * user's logins. Without the network, and if root runs it, it also reads the files of other
	 * users. */
	bool settings;
	/* a path that it may read, at the same path as on the host; NULL: none */
	const char *source;
	const char *link; /* a link to source in its working directory; NULL: none */
	bool network;
	/* An absolute path. The tool does not see this directory, but two directories in it, and
	 * can write to both. It sees `out` under the same name in its own working directory, and
	 * `temporary` as its place for temporary files. out and temporary are names, not paths. */
	const char *dir;
	const char *out;
	const char *temporary;
	/* How many bytes it may write to both together; 0: any number. More is ERR_INVALID and
	 * REASON_IMAGE_TOO_SMALL. */
	uint64_t room;
	bool unconfined; /* it runs in no cell, because the user wants that */
	/* it runs without a cell if none can be made, because apt has verified its input */
	bool vouched;
};

/* Runs argv of the tool in the cell, with the relevant variables of this process's environment and
 * with the tool's own variables. Without a cell, the tool's working directory is dir.
 * ERR_UNAVAILABLE and REASON_NO_CELL if no cell can be made. */
int cell_run(const struct tool_cell *cell, const struct tool *tool, struct error *err);

#endif
