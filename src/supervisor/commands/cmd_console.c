/* SPDX-License-Identifier: MIT */
/* console: reports the socket of the serial console of a running workspace. Records nothing. */
#include "base/cleanup.h"
#include "supervisor/capabilities.h"
#include "supervisor/commands/settle.h"
#include "supervisor/inputs/manifest.h"
#include "supervisor/live/console.h"

static int is_recorded_config(const struct record *record, struct error *err)
{
	struct manifest manifest = {0};
	int status;

	if (manifest_read(&record->ws, &manifest, err) < 0)
		return -1;
	status = config_compare(&record->call->request->config, &manifest.config, err);
	manifest_free(&manifest);
	return status;
}

static int console(struct record *record, struct response *response, struct error *err)
{
	autofree char *path = NULL;

	if (!record->call->backend->console)
		return error_set(
			err, ERR_UNSUPPORTED,
			"backend %s does not support the console of a guest: run a command in the guest instead",
			record->call->backend->name);
	if (settle_if_stale(record, err) < 0 || record_allows(record, COMMAND_CONSOLE, err) < 0 ||
	    is_recorded_config(record, err) < 0)
		return -1;
	path = workspace_path(&record->ws, CONSOLE_SOCK_NAME, err);
	if (!path)
		return -1;
	response->event = record_unrecorded(record, STATE_RUNNING, path, err);
	return response->event ? 0 : -1;
}

int cmd_console(const struct call *call, struct response *response, struct error *err)
{
	struct record record = RECORD_NONE;
	int status;

	if (capabilities_check(call->backend, &call->request->config, err) < 0)
		return -1;
	status = record_open(&record, call, false, err);
	if (status == 0)
		status = console(&record, response, err);
	record_close(&record);
	return status;
}
