/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "api/api.h"
#include "base/buf.h"
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
	agent->backend = backend_usual();
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

int microagent_check_backend(const char *name, struct error *err)
{
	autobuf struct buf names = BUF_INIT(0);

	if (contract_backend_find(name))
		return 0;
	for (const struct contract_backend *row = contract_backends; row->name; row++)
		if (buf_printf(&names, err, "%s%s", names.len ? ", " : "", row->name) < 0)
			return -1;
	return error_set(err, ERR_INVALID, "there is no backend \"%.64s\": choose one of %s", name,
			 buf_string(&names));
}

int microagent_use_backend(struct microagent *agent, const char *name, struct error *err)
{
	if (microagent_check_backend(name, err) < 0)
		return -1;
	agent->backend = contract_backend_find(name);
	return 0;
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
