/* SPDX-License-Identifier: MIT */
#include "api/api.h"
#include "base/cleanup.h"
#include "base/fd.h"

int microagent_console_open(struct microagent *agent, const char *name, struct error *err)
{
	struct open_workspace existing = {0};
	const char *const options[] = {"--recorded", NULL};
	json_t *config;
	int fd = -1;

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	config = request_state_config(agent, err);
	/* The path of the socket in the supervisor's answer may be too long for a socket address.
	 * So this function connects to the socket by its name in the open directory of the
	 * workspace. */
	if (config && request_call_with(agent, options, "console", name, config, NULL, err) == 0)
		fd = sock_connect_at(existing.ws.fd, "console.sock", err);
	open_workspace_close(&existing);
	return fd;
}
