/* SPDX-License-Identifier: MIT */
/* From a decoded request to a job: the user, the environment, the program. */
#ifndef GUEST_EXEC_H
#define GUEST_EXEC_H

#include "base/error.h"
#include "guest/agent/request.h"
#include "guest/container/containers.h"
#include "guest/job/job.h"
#include "guest/job/user_cache.h"

struct exec_context {
	struct job_table jobs;
	const char *etc; /* "/etc" but for tests */
	struct user_cache users;
	struct containers containers;
	json_t *env;	/* the run config's, a reference; NULL: none */
	bool may_block; /* the machine has shares: spawn.h */
	bool traced;	/* what is run is to be traced */
	int program_fd; /* this program, for what it does as another user; -1: cannot */
};

/* NULL with the reason when the request has a problem, or the command could not even be forked
 * (exit code 125 to the client). */
struct job *exec_start(struct exec_context *context, const struct request *request,
		       const struct job_owner *owner, void *data, struct error *err);
/* Our program for files (the request's command must name it) with connection as its stdin and
 * stdout, to which it is left: it has no owner, and ends when the connection does. */
int exec_hand_over(struct exec_context *context, const struct request *request, int connection,
		   struct error *err);
/* A job of this program itself, as the request's user: argv[0] is one of roles.h, and says why not
 * on stderr with exit code 1. Another process, since a share without a server may hold it for ever.
 */
struct job *exec_file(struct exec_context *context, const struct request *request,
		      const char *const *argv, const struct job_owner *owner, void *data,
		      struct error *err);

#endif
