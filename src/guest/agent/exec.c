/* SPDX-License-Identifier: MIT */
#include "guest/agent/exec.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "guest/job/environ.h"
#include "guest/job/user_cache.h"
#include "guest/roles.h"

static struct job *exec_job(struct exec_context *context, const struct request *request,
			    const struct job_spec *wanted, json_t *env,
			    const struct job_owner *owner, void *data, struct error *err)
{
	struct job_spec spec = *wanted;
	struct user user;
	char **envp;
	struct job *job;

	if (request->problem[0]) {
		error_set(err, ERR_INVALID, "%s", request->problem);
		return NULL;
	}
	if (user_cache_resolve(&context->users, context->etc, request->user, &user, err) < 0)
		return NULL;
	envp = environ_build(&user, request->terminal, env, request->env, err);
	if (!envp)
		return NULL;
	spec.envp = (const char *const *)envp;
	spec.user = &user;
	spec.may_block = context->may_block;
	spec.traced = context->traced && spec.program_fd < 0;
	job = job_start(&context->jobs, &spec, owner, data, err);
	environ_free(envp);
	return job;
}

struct job *exec_start(struct exec_context *context, const struct request *request,
		       const struct job_owner *owner, void *data, struct error *err)
{
	struct job_spec spec = {
		.argv = request->argv,
		.cwd = request->cwd,
		.stdin_open = request->stdin_open,
		.terminal = request->terminal,
		.rows = request->rows,
		.columns = request->columns,
		.timeout_ms = request->timeout_ms,
		.rlimits = &request->rlimits,
		.program_fd = -1,
	};

	if (request->contained && !request->problem[0]) {
		spec.traced = context->traced;
		return containers_start(&context->containers, request->contained, &spec, owner,
					data, err);
	}
	/* Commands with these names run this program, so that they work in every image. The image
	 * needs no files with these names. */
	if (request->argv && (strcmp(request->argv[0], ROLE_FILES) == 0 ||
			      strcmp(request->argv[0], ROLE_CONTAINER) == 0)) {
		spec.program_fd = context->program_fd;
		spec.cwd = "/";
	}
	if (request->argv && strcmp(request->argv[0], ROLE_SHELL) == 0)
		spec.program_fd = context->program_fd;
	return exec_job(context, request, &spec, context->env, owner, data, err);
}

int exec_hand_over(struct exec_context *context, const struct request *request, int connection,
		   struct error *err)
{
	struct job_spec spec = {
		.argv = request->argv,
		.cwd = "/",
		.connection = connection,
		.program_fd = context->program_fd,
	};

	if (strcmp(request->argv[0], ROLE_FILES) != 0 || request->terminal)
		return error_set(
			err, ERR_INVALID,
			"a connection can be handed over only to the agent's own program, without a terminal: name the program " ROLE_FILES);
	return exec_job(context, request, &spec, context->env, NULL, NULL, err) ? 0 : -1;
}

struct job *exec_file(struct exec_context *context, const struct request *request,
		      const char *const *argv, const struct job_owner *owner, void *data,
		      struct error *err)
{
	struct job_spec spec = {
		.argv = argv,
		.cwd = "/",
		.stdin_open = request->stdin_open,
		.timeout_ms = limit_get(LIMIT_EXEC_ENVELOPE_MS),
		.program_fd = context->program_fd,
	};

	if (!request->problem[0] && context->program_fd < 0) {
		error_set(
			err, ERR_UNSUPPORTED,
			"the guest's agent cannot copy files, because the kernel did not let it open its own program when the guest booted: boot the machine again");
		return NULL;
	}
	return exec_job(context, request, &spec, NULL, owner, data, err);
}
