/* SPDX-License-Identifier: MIT */
/* Returns the network of a workspace: the recorded network, and the addresses while the workspace
 * runs. */
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"

static json_t *prepared(const struct workspace *ws, struct error *err)
{
	json_auto_t *record = workspace_read(ws, "workspace.json", err);
	json_auto_t *block = json_object();
	const json_t *network = json_object_get(json_object_get(record, "config"), "network");
	static const char *const lists[] = {"allow", "portForwards"};

	if (!record)
		return NULL;
	if (json_put(block, "mode", json_deep_copy(json_object_get(network, "mode")), err) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const json_t *list = json_object_get(network, lists[i]);

		if (json_put(block, lists[i], list ? json_deep_copy(list) : json_array(), err) < 0)
			return NULL;
	}
	const json_t *egress = json_object_get(network, "egress");
	if (egress && json_put(block, "egress", json_deep_copy(egress), err) < 0)
		return NULL;
	const json_t *interface = json_object_get(network, "interface");
	if (interface && json_put(block, "interface", json_deep_copy(interface), err) < 0)
		return NULL;
	return steal_ptr(&block);
}

/* Puts the addresses of the running machine into `out` as "runtime". The text "detail" in
 * runtime.json is not an address, so it becomes a member of `out`, and not of "runtime". */
static int put_runtime(const struct workspace *ws, json_t *out, struct error *err)
{
	json_auto_t *runtime = workspace_read(ws, "runtime.json", err);
	json_t *network = json_object_get(runtime, "network");
	json_t *detail = json_object_get(network, "detail");

	if (!runtime)
		return -1;
	if (!network)
		return 0;
	if (detail && json_put(out, "detail", json_incref(detail), err) < 0)
		return -1;
	json_auto_t *block = json_copy(network);
	json_object_del(block, "detail");
	return json_put(out, "runtime", steal_ptr(&block), err);
}

/* Returns true if the workspace's addresses can be reached. A machine in quarantine lives, but
 * cannot be reached at its addresses. */
static bool is_in_use(const struct workspace *ws, const json_t *response)
{
	const char *state = json_text(json_object_get(response, "event"), "state", NULL);

	return lease_is_held(ws) && state && strcmp(state, "quarantined") != 0;
}

json_t *microagent_network(struct microagent *agent, const char *name, struct error *err)
{
	json_auto_t *response = NULL, *out = json_object();
	auto_existing struct open_workspace existing = {0};
	const json_t *event;
	json_t *network;

	if (microagent_status(agent, name, &response, err) < 0 ||
	    open_workspace_named(agent, name, &existing, err) < 0)
		return NULL;
	event = json_object_get(response, "event");
	network = prepared(&existing.ws, err);
	if (!network || json_put_string(out, "workspace", existing.ws.id, err) < 0 ||
	    json_put(out, "state", json_deep_copy(json_object_get(event, "state")), err) < 0 ||
	    json_put(out, "backend", json_incref(json_object_get(response, "backend")), err) < 0) {
		json_decref(network);
		return NULL;
	}
	if (json_put(out, "network", network, err) < 0 ||
	    (is_in_use(&existing.ws, response) && put_runtime(&existing.ws, out, err) < 0))
		return NULL;
	return steal_ptr(&out);
}
