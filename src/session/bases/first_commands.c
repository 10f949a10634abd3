/* SPDX-License-Identifier: MIT */
#include "session/bases/first_commands.h"

#include "api/guest.h"
#include "base/cleanup.h"
#include "base/limits.h"

/* Runs a few commands, to test that the machine can run commands. The image may lack these
 * programs: if the guest answers that a program does not exist, the test succeeds too. Several
 * commands are run, so that the slow first ones are not left to the user: in an emulated guest, the
 * first command takes ten times as long as the second, and the second takes one and a half times as
 * long as the third. */
int first_commands_try(struct microagent *agent, const char *name, struct error *err)
{
	static const char *const list[][4] = {{"true"}, {"sh", "-c", "true"}, {"true"}};
	const struct microagent_run_limits limits = {
		.timeout_ms = (uint32_t)limit_get(LIMIT_AGENT_ANSWER_MS)};
	int status = 0;

	for (size_t i = 0; status == 0 && i < ARRAY_SIZE(list); i++) {
		const struct microagent_exec exec = {.command = list[i]};
		struct microagent_guest *guest = guest_handle_open(agent, name, err);
		struct microagent_result result = {0};

		status = guest ? microagent_guest_run(guest, &exec, &limits, &result, err) : -1;
		if (status == 0 && result.timed_out)
			status = error_set(
				err, ERR_TIMEOUT,
				"the first command of the new session did not end in time, so the session cannot be used: look at what the command waits for");
		microagent_result_free(&result);
		microagent_guest_close(guest);
	}
	return status;
}
