/* SPDX-License-Identifier: MIT */
#include "api/api.h"
#include "base/cleanup.h"
#include "base/fd.h"

int microagent_console_open(struct microagent *agent, const char *name, struct error *err)
{
	struct existing existing = {0};
	json_t *config;
	int fd = -1;

	if (existing_open(agent, name, &existing, err) < 0)
		return -1;
	config = existing_config(&existing, err);
	/* Dialled by the directory and not by the answer's path, which may be too long for that. */
	if (config && request_call(agent, "console", name, config, NULL, err) == 0)
		fd = sock_connect_at(existing.ws.fd, "console.sock", err);
	existing_close(&existing);
	return fd;
}
