/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/system.h"

/* Returns the backend that the last event of the workspace names. Returns the backend of the handle
 * if there is no such event. */
const struct contract_backend *request_backend_of(const struct microagent *agent,
						  const struct workspace *ws)
{
	enum state state;
	json_t *event = NULL;
	const struct contract_backend *found;

	if (workspace_state(ws, &state, &event, NULL) < 0)
		return agent->backend;
	found = contract_backend_find(json_text(json_object_get(event, "identity"), "backend", ""));
	json_decref(event);
	return found ? found : agent->backend;
}

const struct contract_backend *request_backend(const struct microagent *agent, const char *name)
{
	const struct contract_backend *found = agent->backend;
	struct state_dir dir;
	struct workspace ws;

	if (state_dir_open(agent->state_path, false, &dir, NULL) < 0)
		return found;
	if (workspace_open(&dir, name, false, &ws, NULL) == 0) {
		found = request_backend_of(agent, &ws);
		workspace_close(&ws);
	}
	state_dir_close(&dir);
	return found;
}

static json_t *identity_new(const struct microagent *agent, const char *name, struct error *err)
{
	json_auto_t *identity = json_object();
	unsigned char bytes[8];
	char id[24];

	if (random_bytes(bytes, sizeof(bytes), err) < 0)
		return NULL;
	/* This id identifies the request in events and logs. */
	snprintf(id, sizeof(id), "req-%02x%02x%02x%02x%02x%02x%02x%02x", bytes[0], bytes[1],
		 bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]);
	if (json_put_string(identity, "requestID", id, err) < 0 ||
	    json_put_string(identity, "runtimeID", name, err) < 0 ||
	    json_put_string(identity, "role", "workload", err) < 0 ||
	    json_put_string(identity, "backend", request_backend(agent, name)->name, err) < 0)
		return NULL;
	return steal_ptr(&identity);
}

json_t *request_new(const struct microagent *agent, const char *command, const char *name,
		    json_t *config, struct error *err)
{
	json_auto_t *request = json_object();
	json_auto_t *owned = config;
	json_t *identity;

	if (json_put_string(request, "command", command, err) < 0)
		return NULL;
	if (name) {
		identity = identity_new(agent, name, err);
		if (!identity || json_put(request, "identity", identity, err) < 0)
			return NULL;
	}
	if (owned && json_put(request, "config", steal_ptr(&owned), err) < 0)
		return NULL;
	return steal_ptr(&request);
}

char *request_supervisor(const struct microagent *agent, const json_t *request, struct error *err)
{
	const char *name =
		json_text(json_object_get(request, "identity"), "backend", agent->backend->name);
	const struct contract_backend *known = contract_backend_find(name);

	return known ? backend_find_supervisor(known, err) : supervisor_find(name, err);
}

json_t *request_state_config(const struct microagent *agent, struct error *err)
{
	json_auto_t *config = json_object();

	if (json_put_string(config, "stateDir", agent->state_path, err) < 0)
		return NULL;
	return steal_ptr(&config);
}

int request_confine(const struct microagent *agent, json_t *config, const json_t *as,
		    struct error *err)
{
	const char *word = json_text(as, "confinement", NULL);

	return json_put_optional(config, "confinement", agent->unconfined ? "seccomp" : word, err);
}

int request_call(const struct microagent *agent, const char *command, const char *name,
		 json_t *config, json_t **response, struct error *err)
{
	return request_call_with(agent, NULL, command, name, config, response, err);
}

int request_call_with(const struct microagent *agent, const char *const *options,
		      const char *command, const char *name, json_t *config, json_t **response,
		      struct error *err)
{
	const struct supervisor_wait wait = {
		.fn = agent->wait_fn,
		.data = agent->wait_data,
		.cancel = agent->cancel,
		.apart = agent->apart,
		.handed = agent->handed,
		.nhanded = agent->nhanded,
		/* The command prepare can take long, because it computes digests. If this process
		 * is killed, nobody needs the result, so the supervisor then ends too. */
		.bound = strcmp(command, "prepare") == 0,
	};
	json_auto_t *request = request_new(agent, command, name, config, err);
	json_auto_t *answer = NULL;
	const char *const keeping[] = {"--keep-quarantined", NULL};
	autofree char *path = NULL;
	int code;

	if (!request)
		return -1;
	path = request_supervisor(agent, request, err);
	if (!path)
		return -1;
	/* No option is lost here, because all callers of kill and delete pass NULL as `options`. */
	if (agent->keep_quarantined &&
	    (strcmp(command, "kill") == 0 || strcmp(command, "delete") == 0))
		options = keeping;
	answer = supervisor_call(path, options, request, &wait, &code, err);
	if (!answer || supervisor_error(answer, err) < 0)
		return -1;
	if (response)
		*response = steal_ptr(&answer);
	return 0;
}
