/* SPDX-License-Identifier: MIT */
/* Creates, starts, ends and deletes workspaces. Each function calls one command of the workspace's
 * supervisor. */
#include <string.h>

#include "api/api.h"
#include "api/explain.h"
#include "base/cleanup.h"
#include "base/json.h"

int microagent_create(struct microagent *agent, const char *name,
		      const struct microagent_spec *spec, json_t **response, struct error *err)
{
	struct creation made = CREATION_NONE;
	json_t *config;
	int result = -1;

	if (creation_begin(agent, name, spec, &made, err) < 0)
		return -1;
	config = creation_config(agent, &made, spec, err);
	if (config)
		result = request_call(agent, "prepare", name, config, response, err);
	if (result < 0)
		creation_undo(&made);
	else
		creation_done(&made);
	creation_free(&made);
	return result;
}

/* Calls a command of the supervisor for a workspace. The request has the config in
 * workspace.json. */
static int as_recorded(struct microagent *agent, const char *const *options, const char *command,
		       const char *name, json_t **response, struct error *err)
{
	const char *all[SUPERVISOR_OPTIONS_MAX + 1] = {"--recorded"};
	struct open_workspace existing = {0};
	json_t *config;

	for (size_t i = 0; options && options[i]; i++) {
		if (i + 1 == SUPERVISOR_OPTIONS_MAX)
			return error_set(
				err, ERR_INTERNAL,
				"the command needs more than %d options of the supervisor, which is the limit: this is a bug of microagent",
				SUPERVISOR_OPTIONS_MAX);
		all[i + 1] = options[i];
	}
	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	open_workspace_close(&existing);
	config = request_state_config(agent, err);
	if (!config || request_confine(agent, config, NULL, err) < 0) {
		json_decref(config);
		return -1;
	}
	if (request_call_with(agent, all, command, name, config, response, err) == 0)
		return 0;
	return explain_missing_file(name, err);
}

int microagent_start(struct microagent *agent, const char *name, json_t **response,
		     struct error *err)
{
	return as_recorded(agent, NULL, "start", name, response, err);
}

int workspace_start_with_options(struct microagent *agent, const char *const *options,
				 const char *name, struct error *err)
{
	return as_recorded(agent, options, "start", name, NULL, err);
}

int workspace_start_with(struct microagent *agent, const char *option, const char *name,
			 struct error *err)
{
	const char *const options[] = {option, NULL};

	return workspace_start_with_options(agent, options, name, err);
}

const char *const prepare_keeping[] = {"--keep-reviews", NULL};

int workspace_prepare_anew(struct microagent *agent, const char *name, struct error *err)
{
	return as_recorded(agent, prepare_keeping, "prepare", name, NULL, err);
}

int workspace_prepare_taking(struct microagent *agent, const char *name, struct error *err)
{
	return as_recorded(agent, NULL, "prepare", name, NULL, err);
}

/* The files of reviewed directories are kept, so they must be those that an earlier prepare has made:
 * what a live supervisor that was taken over has written must not be recorded. If the files cannot be
 * described, the supervisor takes the directories anew, or says what is wrong. */
static int require_reviews(const struct microagent *agent, const char *name, struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *reviews = NULL;
	int status = 0;

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	reviews = reviews_describe(&existing.ws, NULL);
	if (reviews)
		status = reviews_require(reviews, existing.ws.fd, err);
	open_workspace_close(&existing);
	return status;
}

int microagent_prepare(struct microagent *agent, const char *name, json_t **response,
		       struct error *err)
{
	if (require_reviews(agent, name, err) < 0)
		return -1;
	return as_recorded(agent, prepare_keeping, "prepare", name, response, err);
}

/* Calls a command of the supervisor for an existing workspace. The config of the request has only
 * the state directory. */
static int on_existing(struct microagent *agent, const char *option, const char *command,
		       const char *name, json_t **response, struct error *err)
{
	const char *const options[] = {option, NULL};
	struct open_workspace existing = {0};
	json_t *config;

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	open_workspace_close(&existing);
	config = request_state_config(agent, err);
	return config ? request_call_with(agent, options, command, name, config, response, err)
		      : -1;
}

int microagent_status(struct microagent *agent, const char *name, json_t **response,
		      struct error *err)
{
	return on_existing(agent, NULL, "inspect", name, response, err);
}

int microagent_verify(struct microagent *agent, const char *name, json_t **response,
		      struct error *err)
{
	return on_existing(agent, "--full", "inspect", name, response, err);
}

int microagent_stop(struct microagent *agent, const char *name, json_t **response,
		    struct error *err)
{
	return on_existing(agent, NULL, "stop", name, response, err);
}

int microagent_halt(struct microagent *agent, const char *name, json_t **response,
		    struct error *err)
{
	return on_existing(agent, NULL, "halt", name, response, err);
}

int microagent_quarantine(struct microagent *agent, const char *name, json_t **response,
			  struct error *err)
{
	return on_existing(agent, NULL, "quarantine", name, response, err);
}

int microagent_kill(struct microagent *agent, const char *name, json_t **response,
		    struct error *err)
{
	return on_existing(agent, NULL, "kill", name, response, err);
}

int microagent_delete(struct microagent *agent, const char *name, json_t **response,
		      struct error *err)
{
	struct error why = {0};
	json_t *config;

	if (microagent_check_name(name, err) < 0)
		return -1;
	config = request_state_config(agent, err);
	if (!config)
		return -1;
	if (request_call(agent, "delete", name, config, response, &why) == 0)
		return 0;
	if (why.code == ERR_CONFLICT && why.reason != REASON_WORKSPACE_ALIVE) {
		struct open_workspace existing = {0};

		/* If the lease shows that a process of the workspace lives, the error says so. In
		 * any other conflict, the supervisor's error is not changed. */
		if (open_workspace_named(agent, name, &existing, NULL) == 0) {
			if (lease_is_held(&existing.ws))
				open_workspace_refuse_alive(&existing, &why);
			open_workspace_close(&existing);
		}
	}
	return error_copy(err, &why);
}
