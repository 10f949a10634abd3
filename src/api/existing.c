/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"

void existing_close(struct existing *existing)
{
	if (existing->ws.id)
		workspace_close(&existing->ws);
	if (existing->dir.path)
		state_dir_close(&existing->dir);
}

static int absent(const struct microagent *agent, const char *name, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND,
			 "there is no workspace \"%s\" in %s: `microagent list` shows those there "
			 "are, `microagent create %s` makes one",
			 name, agent->state_path, name);
}

int existing_open(const struct microagent *agent, const char *name, struct existing *out,
		  struct error *err)
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
		existing_close(out);
		return absent(agent, name, err);
	}
	return 0;
}

json_t *existing_config(const struct existing *existing, struct error *err)
{
	json_auto_t *record = workspace_read(&existing->ws, "workspace.json", err);
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

int existing_refuse_alive(const struct existing *existing, struct error *err)
{
	const char *name = existing->ws.id;
	enum state state = STATE_RUNNING;
	json_t *event = NULL;
	struct error ignored;
	bool known = workspace_state(&existing->ws, &state, &event, &ignored) == 0;

	json_decref(event);
	return error_set(err, ERR_CONFLICT,
			 "workspace \"%s\" is %s: `microagent stop %s` (or kill) first", name,
			 known && state == STATE_QUARANTINED ? "quarantined" : "running", name);
}

int existing_accelerator(const struct existing *existing, char out[8], struct error *err)
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
	struct existing existing = {0};
	int result;

	if (existing_open(agent, name, &existing, err) < 0)
		return -1;
	result = existing_accelerator(&existing, out, err);
	existing_close(&existing);
	return result;
}
