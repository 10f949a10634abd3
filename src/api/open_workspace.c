/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "contract/kind.h"
#include "store/record_digest.h"

void open_workspace_close(struct open_workspace *existing)
{
	if (existing->ws.id)
		workspace_close(&existing->ws);
	if (existing->dir.path)
		state_dir_close(&existing->dir);
}

static int absent(const struct microagent *agent, const char *name, struct error *err)
{
	char what[KIND_NAME_ROOM];

	kind_name(name, what);
	error_set(err, ERR_NOT_FOUND, "there is no %s in %s", what, agent->state_path);
	return error_reason(err, REASON_NO_WORKSPACE, name);
}

int open_workspace_named(const struct microagent *agent, const char *name,
			 struct open_workspace *out, struct error *err)
{
	struct error why = {0};

	if (microagent_check_name(name, err) < 0)
		return -1;
	if (state_dir_open(agent->state_path, false, &out->dir, &why) < 0) {
		if (why.code == ERR_NOT_FOUND)
			return absent(agent, name, err);
		return error_copy(err, &why);
	}
	if (workspace_open(&out->dir, name, false, &out->ws, err) < 0) {
		state_dir_close(&out->dir);
		return -1;
	}
	if (out->ws.fd < 0) {
		open_workspace_close(out);
		return absent(agent, name, err);
	}
	return 0;
}

json_t *open_workspace_config(const struct open_workspace *existing, struct error *err)
{
	json_auto_t *record = workspace_read_accepted(&existing->ws, "workspace.json", err);
	json_t *config = NULL;

	if (!record)
		return NULL;
	if (json_get_object(record, "", "config", JSON_REQUIRED, &config, err) < 0) {
		autofree char *path = workspace_path(&existing->ws, "workspace.json", NULL);

		if (err)
			err->code = ERR_IO;
		error_prefix(err, "%s", path ? path : "workspace.json");
		return NULL;
	}
	return json_incref(config);
}

int open_workspace_refuse_alive(const struct open_workspace *existing, struct error *err)
{
	const char *name = existing->ws.id;
	enum state state = STATE_RUNNING;
	char what[KIND_NAME_ROOM];
	json_t *event = NULL;
	struct error ignored;
	bool known = workspace_state(&existing->ws, &state, &event, &ignored) == 0;

	json_decref(event);
	kind_name(name, what);
	error_set(err, ERR_CONFLICT, "%s is %s", what,
		  known && state == STATE_QUARANTINED ? "quarantined" : "running");
	return error_reason(err, REASON_WORKSPACE_ALIVE, name);
}

int open_workspace_refuse_quarantined(const struct open_workspace *existing, struct error *err)
{
	enum state state = STATE_UNKNOWN;

	if (workspace_state(&existing->ws, &state, NULL, err) < 0)
		return -1;
	return state == STATE_QUARANTINED ? kind_say(KIND_QUARANTINED, existing->ws.id,
						     state_names[state], ERR_CONFLICT, err)
					  : 0;
}

int open_workspace_accelerator(const struct open_workspace *existing, char out[8],
			       struct error *err)
{
	struct error why = {0};
	json_auto_t *runtime = workspace_read(&existing->ws, "runtime.json", &why);
	const char *name = "";

	if (!runtime && why.code != ERR_NOT_FOUND) {
		return error_copy(err, &why);
	}
	if (runtime &&
	    json_get_string(runtime, "runtime.json", "accelerator", JSON_OPTIONAL, &name, err) < 0)
		return -1;
	snprintf(out, 8, "%s", name);
	return 0;
}

int microagent_accelerator(struct microagent *agent, const char *name, char out[8],
			   struct error *err)
{
	struct open_workspace existing = {0};
	int result;

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	result = open_workspace_accelerator(&existing, out, err);
	open_workspace_close(&existing);
	return result;
}
