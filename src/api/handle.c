/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/error.h"

const char *microagent_version(void)
{
	return MICROAGENT_VERSION;
}

const char *microagent_error_name(enum error_code code)
{
	return error_code_name(code);
}

const char *microagent_reason_name(enum error_reason reason)
{
	return error_reason_name(reason);
}

struct microagent *microagent_open(const char *state_dir, struct error *err)
{
	autofree char *path = state_dir_default(state_dir, err);
	struct microagent *agent;

	if (!path)
		return NULL;
	agent = calloc(1, sizeof(*agent));
	if (!agent) {
		error_errno(err, errno, "microagent");
		return NULL;
	}
	agent->state_path = steal_ptr(&path);
	agent->cancel = -1;
	return agent;
}

void microagent_close(struct microagent *agent)
{
	if (!agent)
		return;
	free(agent->state_path);
	free(agent);
}

const char *microagent_state_dir(const struct microagent *agent)
{
	return agent->state_path;
}

void microagent_unconfined(struct microagent *agent)
{
	agent->unconfined = true;
}

void microagent_on_wait(struct microagent *agent, void (*fn)(void *data), void *data)
{
	agent->wait_fn = fn;
	agent->wait_data = data;
}
