/* SPDX-License-Identifier: MIT */
#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"

#define EVENTS "events.json"

json_t *microagent_events(struct microagent *agent, const char *name, struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *answer = json_object();
	json_t *events;

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return NULL;
	events = workspace_read(&existing.ws, EVENTS, err);
	if (events && !json_is_array(events)) {
		struct error why = {0};

		error_set(
			&why, ERR_INVALID,
			"the record of the workspace's events is damaged, because it is not a JSON array");
		workspace_damaged(&existing.ws, EVENTS, &why, err);
		json_decref(events);
		events = NULL;
	}
	open_workspace_close(&existing);
	if (!events || json_put(answer, "events", events, err) < 0)
		return NULL;
	return steal_ptr(&answer);
}
