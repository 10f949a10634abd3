/* SPDX-License-Identifier: MIT */
/*
 * A tool of others in a cell, since what it reads comes from outside: bubblewrap gives it a root of
 * its own with the system's programs and libraries, and what is named here. It sees no process and
 * no socket of the host, and has no rights to gain.
 */
#ifndef ARTIFACT_CELL_H
#define ARTIFACT_CELL_H

#include <stdbool.h>

#include "artifact/tool.h"

struct tool_cell {
	/* The tool reads the user's settings for registries: with the network his logins too, and
	 * without the network, where root runs it, the files of other users. */
	bool settings;
	const char *source; /* a path that it may read, at its own place; NULL: none */
	const char *link;   /* in its working directory: a link to the source; NULL: none */
	bool network;
	/* Absolute. It does not see this directory, but two that are in it: out, at the same name in
	 * its own working directory, and temporary, its place for temporary files. It can write to
	 * both. Each is a name, not a path. */
	const char *dir;
	const char *out;
	const char *temporary;
	/* How many bytes it may have in both; 0: any number. More is ERR_INVALID and
	 * REASON_IMAGE_TOO_SMALL. */
	uint64_t room;
	bool unconfined; /* it runs in no cell, since the user wants it so */
	bool vouched;	 /* nor where none can be made: apt has verified what it reads */
};

/* Runs argv of the tool there, with what of the environment concerns it and with the tool's own
 * variables. Where it runs in no cell, its working directory is dir. ERR_UNAVAILABLE and
 * REASON_NO_CELL where no cell can be made. */
int cell_run(const struct tool_cell *cell, const struct tool *tool, struct error *err);

#endif
