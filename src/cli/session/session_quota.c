/* SPDX-License-Identifier: MIT */
/* session quota: sets by how much the disk of a session may grow. */
#include "base/cleanup.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "microagent_session.h"

#define MIB (1 << 20)

/* Returns a size of the disk in MiB, rounded up. So even a small growth is not shown as 0. */
static long long mib_of(const json_t *disk, const char *key)
{
	return (json_integer_value(json_object_get(disk, key)) + MIB - 1) / MIB;
}

static int run_session_quota(struct cli *cli, const void *values, const struct cli_words *args,
			     struct error *err)
{
	struct microagent_session *session = NULL;
	json_auto_t *disk = NULL, *answer = NULL;
	struct microagent *agent;
	const char *name;
	int64_t mib = 0;
	int code = -1;

	(void)values;
	if (guest_read_mib(cli, args->items[1], &mib, err) < 0)
		return -1;
	agent = guest_open(cli, NULL, err);
	if (!agent)
		return -1;
	if (microagent_session_open(agent, args->items[0], &session, err) == 0 &&
	    microagent_session_set_quota(session, mib, &disk, err) == 0) {
		name = microagent_session_name(session);
		if (cli->json) {
			answer = json_pack("{s:b, s:s, s:O}", "ok", 1, "name", name, "disk", disk);
			code = cli_print_json(answer, err);
		} else {
			printf("%s: its disk has grown to %lld of %lld MiB\n", name,
			       mib_of(disk, "grownBytes"), mib_of(disk, "quotaBytes"));
			code = CLI_EXIT_OK;
		}
	}
	microagent_session_close(session);
	microagent_close(agent);
	return code;
}

const struct cli_command session_quota = {
	.name = "quota",
	.args = "SESSION MIB",
	.summary = "let a session's disk grow to MIB; if it waits, it goes on",
	.min_args = 2,
	.max_args = 2,
	.check_name = microagent_session_check_name,
	.run = run_session_quota,
};
