/* SPDX-License-Identifier: MIT */
/*
 * A Model Context Protocol server on two descriptors: what lets a model use machines, within what
 * the person who started it has decided.
 *
 * Theory of operation. One thread, the caller's, reads lines and answers all that takes no time
 * itself; each tools/call is a thread of its own, and whoever has an answer writes it whole under
 * one lock (out.h). What threads have in common is behind the locks of three registries and nothing
 * else: the calls under way (call.h), the sessions that may be touched (sessions.h) and the output
 * that was too long for an answer (kept.h). Which handle of the library a call uses follows from
 * what microagent.h says of threads:
 *
 *   struct microagent            one thread's at a time: each call that needs one (run, making a
 *                                session, listing, an audit log) opens it, and closes it at its end
 *   struct microagent_session,   any thread's: one for each session, in the registry, counted while
 *   struct microagent_guest      calls use it, and closed when it is gone and nobody does
 *   struct microagent_cancel     any thread's: one for each call; the reading thread fires it when
 *                                the client cancels, and all of them at the end
 *   jansson's values             the thread's that made them; a message is the thread's that
 *                                answers it, and what all read (the tools, their schemas) is
 *                                never written
 *
 * Sessions that it makes are owned (microagent_session_spec): if the process is killed, their
 * supervisors destroy them.
 *
 * Three are not trusted: the client, of whom malformed lines are answered and never end the server;
 * the model behind it, who is held to the schemas of the tools, in which what the person allows is
 * written (tools.h); and the guest, whose words are data: escaped, cut, and marked as such
 * (text.h).
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "microagent.h"

/* What the person has decided. Zero and NULL are the defaults; lists are NULL-terminated. */
struct mcp_options {
	const char *state_dir, *backend; /* as of microagent_open() and microagent_use_backend() */
	const char *const *tools;	 /* offered; NULL: all that the rest allows */
	const char *const *bases;	 /* sessions are clones of; the first by default */
	const char *const *images;	 /* of `run`; the first by default; NULL: the default one */
	const char *const *sessions;	 /* that are there, and may be used and destroyed */
	const char *network;		 /* "nat": and isolated; NULL: isolated alone */
	const char *const *allow;	 /* as of struct microagent_spec */
	struct microagent_egress egress; /* of nat */
	const char *files;	  /* a directory of the host to copy from and to; NULL: none */
	bool files_anyway;	  /* also a store of keys, or the home */
	int64_t max_machines;	  /* of sessions that it made and of `run`, at once */
	int64_t result_bytes;	  /* of each stream in an answer */
	int64_t memory_mib, cpus; /* the most that may be asked for; 0: nothing may be */
	bool keep;		  /* its sessions stay */
	/* A line for the person, where no answer can have it. NULL: not told. */
	void (*warn)(const char *text);
};

/* Whether there is a tool of that name; ERR_INVALID says which there are. */
int mcp_check_tool(const char *name, struct error *err);

/* Serves until `in` ends, nobody reads `out`, or `ended`, a descriptor, is readable; its sessions
 * are destroyed then, all within MCP_END_MS. SIGPIPE must be ignored. Fails before the first line
 * is read, if at all. */
int mcp_serve(const struct mcp_options *options, int in, int out, int ended, struct error *err);

#endif
