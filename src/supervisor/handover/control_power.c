/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "base/json.h"
#include "supervisor/live/control_sock.h"

json_t *control_sock_request(const char *command, const struct identity *identity,
			     struct error *err)
{
	json_auto_t *request = json_object();

	if (json_put_string(request, "command", command, err) < 0 ||
	    json_put_string(request, "requestID", identity->request_id, err) < 0 ||
	    json_put_string(request, "role", identity->role, err) < 0)
		return NULL;
	return steal_ptr(&request);
}

int control_sock_power(int workspace_fd, const char *action, const struct identity *identity,
		       bool keep, uint64_t deadline_ns, struct error *err)
{
	json_auto_t *request = control_sock_request("power", identity, err);

	if (!request || json_put_string(request, "action", action, err) < 0 ||
	    (keep && json_put(request, "keepQuarantined", json_true(), err) < 0))
		return -1;
	return control_ask(workspace_fd, request, deadline_ns, NULL, err);
}
