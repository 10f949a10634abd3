/* SPDX-License-Identifier: MIT */
/* Starts a job for a decoded request: finds the user, the environment and the program. */
#ifndef GUEST_EXEC_H
#define GUEST_EXEC_H

#include "base/error.h"
#include "guest/agent/request.h"
#include "guest/container/containers.h"
#include "guest/job/job.h"
#include "guest/job/user_cache.h"

struct exec_context {
	struct job_table jobs;
	const char *etc; /* "/etc" except in tests */
	struct user_cache users;
	struct containers containers;
	json_t *env; /* the environment of the run config, a reference; NULL: none */
	/* The machine has shares, so a command may block before exec (may_block in spawn.h). */
	bool may_block;
	bool traced;	/* commands must be traced */
	int program_fd; /* the file of this program, to run it as another user; -1: none */
};

/* Starts the request's command. Returns NULL with the reason if the request has a problem, or the
 * command could not even be forked (the client then gets exit code 125). */
struct job *exec_start(struct exec_context *context, const struct request *request,
		       const struct job_owner *owner, void *data, struct error *err);
/* Starts this program in the role microagent-files, which the request's command must name. The
 * process gets the connection as its stdin and stdout, and the agent does not use the connection
 * any more. The process has no owner, and ends when the connection ends. */
int exec_hand_over(struct exec_context *context, const struct request *request, int connection,
		   struct error *err);
/* Starts a job that runs this program as the request's user. argv[0] is a role of roles.h. If the
 * work fails, the job writes the reason to stderr and ends with exit code 1. The work needs another
 * process, since a file of a share without a server may block it for ever. */
struct job *exec_file(struct exec_context *context, const struct request *request,
		      const char *const *argv, const struct job_owner *owner, void *data,
		      struct error *err);

#endif
