/* SPDX-License-Identifier: MIT */
/* Asks the live supervisor to change the balloon. The protocol has no command for the balloon, so
 * the request is sent directly to the live supervisor's control socket. */

#include "api/api.h"
#include "api/explain.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/control.h"

int microagent_balloon(struct microagent *agent, const char *name, int64_t mib, json_t **response,
		       struct error *err)
{
	uint64_t wait = limit_get(LIMIT_CONTROL_REQUEST_MS) + limit_get(LIMIT_BALLOON_MS);
	auto_existing struct open_workspace existing = {0};
	json_auto_t *request = json_object();
	struct error why = {0};

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	if (json_put_string(request, "command", "balloon", err) < 0 ||
	    json_put(request, "memoryMiB", json_integer(mib), err) < 0)
		return -1;
	if (control_ask(existing.ws.fd, request, clock_mono_ns() + wait * NS_PER_MS, response,
			&why) == 0)
		return 0;
	explain_nobody_listens(&existing.ws, &why);
	return error_copy(err, &why);
}
