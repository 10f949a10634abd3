/* SPDX-License-Identifier: MIT */
#include "api/explain.h"
#include "api/stream.h"

int microagent_exec(struct microagent *agent, const char *name, const struct microagent_exec *exec,
		    const struct microagent_streams *streams, struct microagent_outcome *outcome,
		    struct error *err)
{
	struct open_workspace existing = {0};
	struct error why = {0};
	int result;

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	result = explain_must_run(&existing.ws, err);
	if (result == 0 && stream_exec(&existing.ws, exec, streams, outcome, &why) < 0) {
		/* ERR_INVALID means that the command's words are wrong. Such an error has nothing
		 * to do with the state of the guest, so it is not changed. */
		if (why.code != ERR_INVALID)
			explain_lost(&existing.ws, &why);
		result = error_copy(err, &why);
	}
	open_workspace_close(&existing);
	return result;
}
