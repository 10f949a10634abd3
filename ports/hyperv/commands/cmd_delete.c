/* SPDX-License-Identifier: MIT */
/* The command delete: removes the workspace's directory. Fails while a process of the workspace
 * runs. Succeeds if there is no workspace. */
#include "hyperv/commands/commands.h"
#include "hyperv/commands/ending.h"
#include "hyperv/store/record.h"

static int delete_locked(struct record *record, struct response *response, struct error *err)
{
	if (!store_exists(&record->store))
		return 0;
	if (state_is_live(record->state))
		return error_set(err, ERR_CONFLICT, "workspace %s is %s; %s before delete",
				 record->id, state_names[record->state],
				 record->state == STATE_STOPPING
					 ? "wait until it has ended, or kill it,"
					 : "stop or kill it");
	if (ending_wait_over(record, err) < 0 || store_remove(&record->store, err) < 0)
		return -1;
	(void)response;
	return 0;
}

int hyperv_delete(const struct request *request, struct response *response, struct error *err)
{
	struct record record;
	int status;

	if (record_begin(&record, request, false, err) < 0)
		return -1;
	status = delete_locked(&record, response, err);
	if (status == 0) {
		response->event = record_unrecorded(&record, STATE_STOPPED, NULL, err);
		status = response->event ? 0 : -1;
	}
	record_end(&record);
	return status;
}
