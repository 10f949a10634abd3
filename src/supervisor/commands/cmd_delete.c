/* SPDX-License-Identifier: MIT */
/* delete: removes the workspace's directory, in which nothing may be alive. One that is not there
 * is already what was asked for. What is kept of a session is moved away first. */
#include "base/cleanup.h"
#include "base/limits.h"
#include "contract/kind.h"
#include "store/audit.h"
#include "supervisor/commands/settle.h"
#include "supervisor/handover/leftover.h"

static int archive_and_remove(struct record *record, struct error *err)
{
	struct error ignored;

	if (record->ws.fd < 0)
		return record->ws.id ? workspace_remove(&record->ws, err) : 0;
	/* The lease decides; a state that cannot be read is no reason to keep the workspace. */
	(void)record_load(record, &ignored);
	if (settle_finds_life(record))
		return kind_error(record->call->request->identity.runtime_id, ERR_CONFLICT, err,
				  "is %s before delete",
				  record->state == STATE_QUARANTINED
					  ? "quarantined; halt, stop or kill it"
					  : "running; stop or kill it");
	leftover_end_all(&record->ws, limit_deadline(LIMIT_KILL_MS));
	if (workspace_refuse_mounts(&record->ws, err) < 0 || audit_archive(&record->ws, err) < 0)
		return -1;
	return workspace_remove(&record->ws, err);
}

static int delete_workspace(struct record *record, struct response *response, struct error *err)
{
	if (record_lock(record, err) < 0 || archive_and_remove(record, err) < 0)
		return -1;
	record_unlock(record);
	response->event = record_unrecorded(record, STATE_STOPPED, NULL, err);
	return response->event ? 0 : -1;
}

int cmd_delete(const struct call *call, struct response *response, struct error *err)
{
	struct record record = RECORD_NONE;
	int status;

	status = record_open(&record, call, false, err);
	if (status == 0)
		status = delete_workspace(&record, response, err);
	record_close(&record);
	return status;
}
