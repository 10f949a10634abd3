/* SPDX-License-Identifier: MIT */
/*
 * A Model Context Protocol server on two descriptors. It lets a model use machines, within the
 * limits that the person who started the server has set.
 *
 * How it works. The thread that calls mcp_serve() reads lines, and itself answers all requests that
 * take no time. Each tools/call runs on its own thread. A thread that has an answer writes the
 * whole answer under one lock (out.h). Threads share only three tables, each with its own lock: the
 * calls under way (call.h), the sessions that calls may use (sessions.h), and the output that was
 * too long for an answer (kept.h). The handles of the library are used by threads as microagent.h
 * allows:
 *
 *   struct microagent            used by one thread at a time. Each call that needs such a handle
 *                                (run, making a session, listing, an audit log) opens one, and
 *                                closes it at the end of the call.
 *   struct microagent_session,   used by any thread. The table has a handle for each session, and
 *   struct microagent_guest      closes it when the session is gone and no call uses the handle.
 *   struct microagent_cancel     used by any thread. Each call has one. The reading thread fires
 *                                it when the client cancels the call; at the end of the server
 *                                the reading thread fires all of them.
 *   jansson's values             used by the thread that made them. A message belongs to the thread
 *                                that answers it. Values that all threads read (the tools, their
 *                                schemas) are never changed.
 *
 * Sessions that the server makes are owned (microagent_session_spec): if the process is killed,
 * their supervisors destroy them.
 *
 * Three parties are not trusted: the client, the model behind the client, and guests. A malformed
 * line of the client gets an answer, and never ends the server. The model can ask only for what the
 * schemas of the tools contain. The schemas contain only what the person who started the server
 * allows (tools.h). The output of a guest is data: it is escaped, cut, and marked as data (text.h).
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "microagent.h"

/* The things that the person who starts the server allows. 0, false and NULL are the defaults.
 * Lists end with NULL. */
struct mcp_options {
	/* The state directory, as for microagent_open(), and the backend, as for
	 * microagent_use_backend(). */
	const char *state_dir, *backend;
	/* The names of the tools that are offered; NULL: all tools that the other options allow. */
	const char *const *tools;
	const char *const *bases; /* bases for sessions; the first is the default */
	/* Images for `run`; the first is the default. NULL: only the default image of the
	 * library. */
	const char *const *images;
	const char *const *sessions; /* existing sessions that may be used and destroyed */
	/* "nat": machines may have the network nat or isolated; NULL: machines may only have
	 * isolated. */
	const char *network;
	const char *const *allow;	 /* as in struct microagent_machine */
	struct microagent_egress egress; /* as in struct microagent_machine */
	/* The directory of the host from and to which files may be copied; NULL: no files may be
	 * copied. */
	const char *files;
	/* true: the directory `files` may be the home directory, or a directory that holds keys */
	bool files_anyway;
	/* The most machines at the same time. Machines of sessions that the server made and
	 * machines of `run` count. */
	int64_t max_machines;
	int64_t result_bytes; /* the most bytes of each output stream in an answer */
	/* The most memory (in MiB) and processors that a call may ask for; 0: a call may not ask
	 * for them. */
	int64_t memory_mib, cpus;
	/* true: the sessions that the server made stay when the server ends; false: they are
	 * destroyed */
	bool keep;
	/* Shows the person who started the server a warning that is not the answer to a request.
	 * May be NULL. */
	void (*warn)(const char *text);
};

/* Checks that a tool has the name `name`. Otherwise fails with ERR_INVALID, and the message of the
 * error lists the names of all tools. */
int mcp_check_tool(const char *name, struct error *err);

/* Serves until `in` is at its end, nobody reads `out` any more, or the descriptor `ended` is
 * readable. Then destroys the sessions that the server made; this takes at most MCP_END_MS. The
 * caller must ignore SIGPIPE. The function can only fail before it reads the first line. */
int mcp_serve(const struct mcp_options *options, int in, int out, int ended, struct error *err);

#endif
