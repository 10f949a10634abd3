/* SPDX-License-Identifier: MIT */
/*
 * A Model Context Protocol server on two descriptors. It lets a model use machines, within the
 * limits that the person who started the server has set.
 *
 * Theory of operation. The caller's thread reads lines, and itself answers all requests that take
 * no time. Each tools/call runs on a thread of its own. A thread with an answer writes it
 * completely under one lock (out.h). Threads share only three registries, each with its own lock:
 * the calls under way (call.h), the sessions that may be touched (sessions.h), and the output that
 * was too long for an answer (kept.h). Which handle of the library a call uses follows from what
 * microagent.h says of threads:
 *
 *   struct microagent            one thread at a time: each call that needs one (run, making a
 *                                session, listing, an audit log) opens it, and closes it at its end
 *   struct microagent_session,   any thread: one for each session, in the registry, counted while
 *   struct microagent_guest      calls use it, and closed when it is gone and no call uses it
 *   struct microagent_cancel     any thread: one for each call; the reading thread fires it when
 *                                the client cancels, and all of them at the end
 *   jansson's values             the thread that made them; a message belongs to the thread that
 *                                answers it, and values that all threads read (the tools, their
 *                                schemas) are never written
 *
 * Sessions that the server makes are owned (microagent_session_spec): if the process is killed,
 * their supervisors destroy them.
 *
 * Three parties are not trusted. The client's malformed lines are answered and never end the
 * server. The model behind the client is held to the schemas of the tools, which contain only what
 * the person allows (tools.h). The guest's words are data: they are escaped, cut and marked as such
 * (text.h).
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "microagent.h"

/* What the person has decided. Zero and NULL are the defaults; lists end with NULL. */
struct mcp_options {
	const char *state_dir, *backend; /* as for microagent_open() and microagent_use_backend() */
	const char *const *tools;	 /* to offer; NULL: all that the rest allows */
	const char *const *bases;	 /* bases for sessions; the first is the default */
	const char *const *images;	 /* for `run`; default: the first; NULL: the default one */
	const char *const *sessions;	 /* existing sessions that may be used and destroyed */
	const char *network;		 /* "nat": nat and isolated; NULL: isolated alone */
	const char *const *allow;	 /* as in struct microagent_spec */
	struct microagent_egress egress; /* for nat */
	const char *files;	  /* a directory of the host to copy from and to; NULL: none */
	bool files_anyway;	  /* even if it is a store of keys, or the home directory */
	int64_t max_machines;	  /* at once, of sessions that the server made and of `run` */
	int64_t result_bytes;	  /* bytes of each stream in an answer */
	int64_t memory_mib, cpus; /* the most that a call may ask for; 0: it may not ask */
	bool keep;		  /* the sessions that the server made stay at its end */
	/* Tells the person a line that no answer can carry. NULL: nothing is told. */
	void (*warn)(const char *text);
};

/* Checks that there is a tool of that name. Otherwise ERR_INVALID lists the names. */
int mcp_check_tool(const char *name, struct error *err);

/* Serves until `in` ends, nobody reads `out`, or the descriptor `ended` is readable. Then destroys
 * the server's sessions, all within MCP_END_MS. SIGPIPE must be ignored. Can only fail before the
 * first line is read. */
int mcp_serve(const struct mcp_options *options, int in, int out, int ended, struct error *err);

#endif
