/* SPDX-License-Identifier: MIT */
/* Starts a job for a decoded request. First finds the user, the environment and the program. */
#ifndef GUEST_EXEC_H
#define GUEST_EXEC_H

#include "base/error.h"
#include "guest/agent/request.h"
#include "guest/container/containers.h"
#include "guest/job/job.h"
#include "guest/job/user_cache.h"

struct exec_context {
	struct job_table jobs;
	const char *etc; /* the directory of passwd and group: "/etc" except in tests */
	struct user_cache users;
	struct containers containers;
	/* A reference to the environment of the run config; NULL: the config has none. */
	json_t *env;
	/* The machine has shares, so a command may block before its exec (may_block in spawn.h). */
	bool may_block;
	bool traced; /* commands must run in a way that the tracer sees */
	/* A descriptor of this program's file, to run the program as another user; -1: there is
	 * none. */
	int program_fd;
};

/* Starts the request's command. Returns NULL with an error if the request has a problem, or if
 * there was no process for the command. The client then gets exit code 125. */
struct job *exec_start(struct exec_context *context, const struct request *request,
		       const struct job_owner *owner, void *data, struct error *err);
/* Starts this program in the role microagent-files, which must be the name of the request's
 * command. The process gets the connection as its stdin and stdout, and the agent does not use the
 * connection any more. No owner is told of the process, which ends when the connection ends. */
int exec_hand_over(struct exec_context *context, const struct request *request, int connection,
		   struct error *err);
/* Starts a job that runs this program as the request's user. argv[0] is a role of roles.h. If the
 * work fails, the job writes the reason to stderr and ends with exit code 1. The agent does not do
 * the work itself: a file of a share whose server is gone may block a process for ever. */
struct job *exec_file(struct exec_context *context, const struct request *request,
		      const char *const *argv, const struct job_owner *owner, void *data,
		      struct error *err);

#endif
