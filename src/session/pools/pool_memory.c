/* SPDX-License-Identifier: MIT */
/*
 * What waiting members have of the host's memory. That is less than what they were given, by far:
 * nothing runs in them, and what they have in common with others is no more for one of them.
 */
#include "base/cleanup.h"
#include "base/json.h"
#include "session/pools/pool.h"

#define MIB (1 << 20)

/* Returns what a member has of the host's memory alone, or 0 where not all of it is shown to us. */
static int64_t bytes_of_member(const struct microagent *agent, const char *name)
{
	auto_session struct microagent_session *member = session_handle(agent, name, NULL);
	json_auto_t *footprint =
		member ? microagent_footprint(member->agent, member->id, NULL) : NULL;
	const json_t *process;
	int64_t bytes = 0;
	size_t i;

	json_array_foreach(json_object_get(footprint, "processes"), i, process)
	{
		const json_t *alone = json_object_get(process, "privateBytes");

		if (!alone)
			return 0;
		bytes += json_integer_value(alone);
	}
	return bytes;
}

int64_t pool_member_takes(const struct microagent *agent, const struct pool *pool)
{
	json_auto_t *names = pool_tokens(pool, POOL_READY, NULL);
	const json_t *name;
	int64_t most = 0;
	size_t i;

	json_array_foreach(names, i, name)
	{
		int64_t bytes = bytes_of_member(agent, json_string_value(name));

		if (bytes > most)
			most = bytes;
	}
	return (most + MIB - 1) / MIB;
}
