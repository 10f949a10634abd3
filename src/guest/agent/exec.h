/* SPDX-License-Identifier: MIT */
/* Starts a job for a decoded request, after it has looked up the user and built the environment. */
#ifndef GUEST_EXEC_H
#define GUEST_EXEC_H

#include "base/error.h"
#include "guest/agent/request.h"
#include "guest/container/containers.h"
#include "guest/job/job.h"
#include "guest/job/user_cache.h"

struct exec_context {
	struct job_table jobs;
	const char *etc; /* the directory of passwd and group; "/etc" except in tests and readers */
	struct user_cache users;
	struct containers containers;
	/* A reference to the environment of the run config. NULL if the config has no
	 * environment. */
	json_t *env;
	/* The machine has shares. A share's server may not answer, so a command may block before
	 * its execve() (see may_block in spawn.h). */
	bool may_block;
	bool traced; /* commands must be started so that the tracer sees them */
	/* A file descriptor of this program's file, from which the program is run as another user.
	 * -1: there is none. */
	int program_fd;
};

/* Starts the request's command. Returns NULL with err set if the request has a problem, or if no
 * process could be created for the command. The client then gets the exit code 125. */
struct job *exec_start(struct exec_context *context, const struct request *request,
		       const struct job_owner *owner, void *data, struct error *err);
/* Starts this program in the role microagent-files, for a request whose command has that name. The
 * process gets the connection as its stdin and stdout, and the agent no longer uses the connection.
 * The process ends when the connection ends. The agent reports the end of this process to
 * nobody. */
int exec_hand_over(struct exec_context *context, const struct request *request, int connection,
		   struct error *err);
/* Starts a job that runs this program as the request's user. argv[0] is a role of roles.h. If the
 * role fails, the job writes the reason to stderr and ends with exit code 1. The agent does not
 * open the file itself, since a file of a share may block a process for ever if the share's server
 * is gone. */
struct job *exec_file(struct exec_context *context, const struct request *request,
		      const char *const *argv, const struct job_owner *owner, void *data,
		      struct error *err);

#endif
