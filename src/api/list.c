/* SPDX-License-Identifier: MIT */
/*
 * Lists the workspaces in a state directory. If a workspace is recorded as alive but none of its
 * processes lives, the recorded state is out of date. Only for such a workspace, this code calls
 * the supervisor, which finds out the state and records it.
 */
#include <string.h>

#include "api/api.h"
#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "contract/request.h"

static bool should_live(enum state state)
{
	return state_is_live(state) || state == STATE_QUARANTINED;
}

/* Returns the latest event of a workspace as a new reference. Returns NULL without setting err if
 * there is no event. */
static json_t *latest_event(struct microagent *agent, const struct workspace *ws, struct error *err)
{
	enum state state;
	json_t *event = NULL;
	json_auto_t *response = NULL;

	if (workspace_state(ws, &state, &event, err) < 0)
		return NULL;
	if (!should_live(state) || lease_is_held(ws))
		return event;
	if (microagent_status(agent, ws->id, &response, err) < 0) {
		json_decref(event);
		return NULL;
	}
	json_decref(event);
	return json_incref(json_object_get(response, "event"));
}

static int copy_keys(json_t *to, const json_t *from, const char *const *keys, struct error *err)
{
	for (; *keys; keys++) {
		json_t *value = json_object_get(from, *keys);

		if (value && json_put(to, *keys, json_incref(value), err) < 0)
			return -1;
	}
	return 0;
}

/* Puts into the entry which protections a running machine lacks, although they are usual or were
 * requested. */
static int put_weakened(const struct workspace *ws, json_t *entry, struct error *err)
{
	static const char *const keys[] = {"cgroupUnlimited", NULL};
	enum state state = state_from_name(json_text(entry, "state", NULL));
	json_auto_t *runtime = NULL;
	struct error ignored;
	const char *name;

	if (!should_live(state))
		return 0;
	runtime = workspace_read(ws, "runtime.json", &ignored);
	if (copy_keys(entry, runtime, keys, err) < 0)
		return -1;
	name = json_text(runtime, "confinement", confinement_names[CONFINEMENT_CELL]);
	return strcmp(name, confinement_names[CONFINEMENT_CELL]) == 0
		       ? 0
		       : json_put_string(entry, "confinement", name, err);
}

static int fill_entry(struct microagent *agent, const struct workspace *ws, json_t *entry,
		      struct error *err)
{
	static const char *const event_keys[] = {"state", "observedAt", "detail", NULL};
	static const char *const identity_keys[] = {"backend", NULL};
	static const char *const config_keys[] = {"memoryMiB", "cpuCount", "command", NULL};
	json_auto_t *event = latest_event(agent, ws, err);
	json_auto_t *record = NULL;
	const json_t *config;

	if (!event || copy_keys(entry, event, event_keys, err) < 0 ||
	    copy_keys(entry, json_object_get(event, "identity"), identity_keys, err) < 0 ||
	    put_weakened(ws, entry, err) < 0)
		return -1;
	record = workspace_read(ws, "workspace.json", err);
	if (!record)
		return -1;
	config = json_object_get(record, "config");
	if (copy_keys(entry, config, config_keys, err) < 0)
		return -1;
	return json_put_string(
		entry, "architecture",
		json_text(config, "architecture", architecture_name(architecture_of_host())), err);
}

/* Returns the entry of a workspace. If the workspace is damaged, its entry has the error instead of
 * the state. This is not an error of the list, so that the other workspaces are still listed. */
static json_t *entry_new(struct microagent *agent, const struct state_dir *dir, const char *name,
			 struct error *err)
{
	json_auto_t *entry = json_object();
	struct workspace ws = {.fd = -1};
	struct error why = {0};
	int filled;

	if (json_put_string(entry, "name", name, err) < 0)
		return NULL;
	filled = workspace_open(dir, name, false, &ws, &why);
	if (filled == 0) {
		filled = fill_entry(agent, &ws, entry, &why);
		workspace_close(&ws);
	}
	if (filled < 0 &&
	    ((!json_object_get(entry, "state") &&
	      json_put_string(entry, "state", state_names[STATE_UNKNOWN], err) < 0) ||
	     json_put(entry, "error", json_string_lossy(why.msg, strlen(why.msg)), err) < 0 ||
	     (why.reason != REASON_NONE &&
	      json_put_string(entry, "reason", error_reason_name(why.reason), err) < 0)))
		return NULL;
	return steal_ptr(&entry);
}

static int fill_list(struct microagent *agent, json_t *list, struct error *err)
{
	struct state_dir dir = {.fd = -1};
	struct error why = {0};
	json_auto_t *names = NULL;
	json_t *name;
	size_t i;

	if (state_dir_open(agent->state_path, false, &dir, &why) < 0) {
		if (why.code == ERR_NOT_FOUND)
			return 0;
		return error_copy(err, &why);
	}
	names = state_dir_list(&dir, err);
	json_array_foreach(names, i, name)
	{
		json_t *entry = entry_new(agent, &dir, json_string_value(name), err);

		if (!entry || json_array_append_new(list, entry) < 0) {
			state_dir_close(&dir);
			return entry ? error_set(
					       err, ERR_IO,
					       "the list of workspaces cannot be made, because this host has no free memory: try again later")
				     : -1;
		}
	}
	state_dir_close(&dir);
	return names ? 0 : -1;
}

json_t *microagent_list(struct microagent *agent, struct error *err)
{
	json_auto_t *answer = json_object();
	json_t *list = json_array();

	if (json_put(answer, "workspaces", list, err) < 0 || fill_list(agent, list, err) < 0)
		return NULL;
	return steal_ptr(&answer);
}
