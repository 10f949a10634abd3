/* SPDX-License-Identifier: MIT */
/*
 * Runs a foreign tool in a cell, because the tool's input comes from outside. bubblewrap gives the
 * tool a separate root with the host's programs and libraries, and with the files that struct
 * tool_cell names. The tool sees no process and no socket of the host, and cannot gain rights.
 */
#ifndef ARTIFACT_CELL_H
#define ARTIFACT_CELL_H

#include <stdbool.h>

#include "artifact/tool.h"

/* What a tool can reach in its cell. */
struct tool_cell {
	/* True: the tool may read the user's settings for registries. A tool with the network may
	 * also read the user's passwords for registries. A tool without the network may also read
	 * the files of other users if root runs this program. */
	bool settings;
	/* a path of the host that the tool may read at the same path in its cell; NULL: no path */
	const char *source;
	const char *link; /* name of a link to `source` in the tool's working directory; NULL: no
			   * link */
	bool network;
	/* The absolute path of a directory that has two subdirectories with the names `out` and
	 * `temporary`. The tool sees only these two subdirectories, and can write to both. `out`
	 * has the same name in the tool's working directory. `temporary` is the tool's directory
	 * for temporary files. */
	const char *dir;
	const char *out;
	const char *temporary;
	/* The number of bytes that the tool may write to both subdirectories of `dir` together; 0:
	 * any number. A tool that writes more is killed, and cell_run() fails with ERR_INVALID and
	 * REASON_IMAGE_TOO_SMALL. */
	uint64_t room;
	bool unconfined; /* the user wants the tool to run without a cell */
	/* apt has verified the tool's input; so if no cell can be made, the tool runs without
	 * one. */
	bool vouched;
};

/* Runs tool->argv in the cell. The tool's environment has tool->env, and those variables of this
 * process that tools need. Without a cell, the tool runs in the directory cell->dir.
 * ERR_UNAVAILABLE with REASON_NO_CELL: no cell can be made. Other errors are those of
 * tool_run(). */
int cell_run(const struct tool_cell *cell, const struct tool *tool, struct error *err);

#endif
