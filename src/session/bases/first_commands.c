/* SPDX-License-Identifier: MIT */
#include "session/bases/first_commands.h"

#include "api/guest.h"
#include "base/cleanup.h"
#include "base/limits.h"

static int try_command(struct microagent *agent, const char *name, const char *const *words,
		       struct error *err)
{
	const struct microagent_exec exec = {.command = words};
	const struct microagent_run_limits limits = {
		.timeout_ms = (uint32_t)limit_get(LIMIT_AGENT_ANSWER_MS)};
	struct microagent_guest *guest = guest_handle_open(agent, name, err);
	struct microagent_result result = {0};
	int status = guest ? microagent_guest_run(guest, &exec, &limits, &result, err) : -1;

	if (status == 0 && result.timed_out)
		status = error_set(err, ERR_TIMEOUT, "its first command did not end");
	microagent_result_free(&result);
	microagent_guest_close(guest);
	return status;
}

/* That commands run in it is seen by some that do; which ones an image has is its own business, and
 * that one is not there is the guest's word too. More than one, because where the guest is emulated
 * the first takes ten times as long as the next, and that one half as long again as the third. */
int first_commands_try(struct microagent *agent, const char *name, struct error *err)
{
	static const char *const list[][4] = {{"true"}, {"sh", "-c", "true"}, {"true"}};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		if (try_command(agent, name, list[i], err) < 0)
			return -1;
	return 0;
}
