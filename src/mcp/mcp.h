/* SPDX-License-Identifier: MIT */
/*
 * A Model Context Protocol server on two descriptors. It lets a model use machines, within the
 * limits that the person who started the server has set.
 *
 * How it works. The thread that calls mcp_serve() reads lines, and itself answers all requests that
 * take no time. Each tools/call runs on a thread of its own. A thread that has an answer writes the
 * whole answer under one lock (out.h). Threads share only three tables, each with a lock of its
 * own: the calls under way (call.h), the sessions that may be touched (sessions.h), and the output
 * that was too long for an answer (kept.h). The handles of the library are used as microagent.h
 * says of threads:
 *
 *   struct microagent            used by one thread at a time. Each call that needs such a handle
 *                                (run, making a session, listing, an audit log) opens one, and
 *                                closes it at the end of the call.
 *   struct microagent_session,   used by any thread. The table has one for each session. It is
 *   struct microagent_guest      closed when the session is gone and no call uses it any more.
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
 * Three parties are not trusted. A malformed line of the client is answered, and never ends the
 * server. The model behind the client can ask only for what the schemas of the tools contain, and
 * these contain only what the person allows (tools.h). The output of a guest is data: it is
 * escaped, cut, and marked as data (text.h).
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "microagent.h"

/* The things that the person who starts the server allows. Zero and NULL are the defaults; lists
 * end with NULL. */
struct mcp_options {
	const char *state_dir, *backend; /* as for microagent_open() and microagent_use_backend() */
	const char *const *tools;	 /* names of the tools that are offered; NULL: all tools
					  * that the other options allow */
	const char *const *bases;	 /* bases for sessions; the first is the default */
	const char *const *images;	 /* images for `run`; the first is the default; NULL: only
					  * the default image of the library */
	const char *const *sessions;	 /* existing sessions that may be used and destroyed */
	const char *network;		 /* "nat": machines may have nat or isolated; NULL: only
					  * isolated */
	const char *const *allow;	 /* as in struct microagent_machine */
	struct microagent_egress egress; /* as in struct microagent_machine */
	const char *files; /* the directory of the host from and to which files may be copied; NULL:
			    * none */
	bool files_anyway; /* the directory `files` may also be one that holds keys, or the home
			    * directory */
	int64_t max_machines; /* the most machines at once, of sessions that the server made and of
			       * `run` */
	int64_t result_bytes; /* the most bytes of each stream in an answer */
	int64_t memory_mib, cpus; /* the most memory and processors that a call may ask for; 0: a
				   * call may not ask for them */
	bool keep;		  /* the sessions that the server made stay at the server's end */
	/* Shows the person a warning that is not the answer to a request. May be NULL. */
	void (*warn)(const char *text);
};

/* Checks that there is a tool of that name. Otherwise fails with ERR_INVALID, whose message lists
 * the names. */
int mcp_check_tool(const char *name, struct error *err);

/* Serves until `in` ends, nobody reads `out` any more, or the descriptor `ended` is readable. Then
 * destroys the sessions that the server made, all within MCP_END_MS. SIGPIPE must be ignored. Can
 * only fail before the first line is read. */
int mcp_serve(const struct mcp_options *options, int in, int out, int ended, struct error *err);

#endif
