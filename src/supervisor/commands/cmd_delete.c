/* SPDX-License-Identifier: MIT */
/* delete: removes the workspace's directory. No process of the workspace may be alive. If the
 * workspace does not exist, this is not an error. The files of a session that must be kept are
 * first moved to the archive. */
#include "base/cleanup.h"
#include "base/limits.h"
#include "contract/kind.h"
#include "store/audit.h"
#include "supervisor/commands/settle.h"
#include "supervisor/handover/leftover.h"

static int refuse_alive(const struct record *record, struct error *err)
{
	/* If the record says that no machine lives, but a process of the workspace lives, a command
	 * has started a machine that reads this workspace's disk. The error then says that the
	 * workspace is running. */
	const char *state = state_is_live(record->state) ? state_names[record->state]
							 : state_names[STATE_RUNNING];
	const char *first = "stop or kill it";

	if (record->state == STATE_QUARANTINED) {
		state = state_names[STATE_QUARANTINED];
		first = "halt, stop or kill it";
	} else if (record->state == STATE_STOPPING) {
		first = "wait until it has ended, or kill it,";
	}
	return kind_error(record->call->request->identity.runtime_id, ERR_CONFLICT, err,
			  "is %s; %s before delete", state, first);
}

static int archive_and_remove(struct record *record, struct error *err)
{
	struct error ignored;

	if (record->ws.fd < 0)
		return record->ws.id ? workspace_remove(&record->ws, err) : 0;
	/* The lease alone decides whether the workspace can be removed. A workspace whose state
	 * cannot be read can still be removed. */
	(void)record_load(record, &ignored);
	if (settle_refuse_quarantined(record, err) < 0)
		return -1;
	if (!settle_finds_damaged_lease(record, &ignored) && settle_finds_life(record))
		return refuse_alive(record, err);
	leftover_end_all(&record->ws, limit_deadline(LIMIT_KILL_MS));
	if (workspace_refuse_mounts(&record->ws, err) < 0 || audit_archive(&record->ws, err) < 0)
		return -1;
	return workspace_remove(&record->ws, err);
}

int cmd_delete(const struct call *call, struct response *response, struct error *err)
{
	struct record record = RECORD_NONE;
	int status;

	status = record_open(&record, call, false, err);
	if (status == 0)
		status = record_lock(&record, err);
	if (status == 0)
		status = archive_and_remove(&record, err);
	if (status == 0) {
		record_unlock(&record);
		/* The event always has the state `stopped`, since no process of a removed workspace
		 * runs. */
		response->event = record_unrecorded(&record, STATE_STOPPED, NULL, err);
		status = response->event ? 0 : -1;
	}
	record_close(&record);
	return status;
}
