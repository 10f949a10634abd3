/* SPDX-License-Identifier: MIT */
/*
 * Whether a member of a pool may be given a directory. The supervisor is asked, as it is asked of a
 * session that is made with one: whether it would prepare this member's config, if the directory
 * were in it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "session/pools/pool.h"

/* What else there is to say is about a member that somebody else has claimed and destroyed
 * meanwhile. */
static int check_with(const struct microagent_session *member,
		      const struct microagent_session_spec *spec, struct error *err)
{
	static const char about[] = "config.shares";
	struct open_workspace existing = {0};
	json_auto_t *config = NULL;
	struct error why = {0};

	if (open_workspace_named(member->agent, member->id, &existing, NULL) < 0)
		return 0;
	config = open_workspace_config(&existing, NULL);
	open_workspace_close(&existing);
	if (!config)
		return 0;
	json_object_del(config, "hotplug");
	if (session_share_put(config, spec, true, err) < 0)
		return -1;
	if (request_call(member->agent, "check", member->id, steal_ptr(&config), NULL, &why) == 0 ||
	    strncmp(why.msg, about, strlen(about)) != 0)
		return 0;
	return error_copy(err, &why);
}

int pool_check_share(const struct microagent *agent, const struct pool *pool,
		     const struct microagent_session_spec *spec, struct error *err)
{
	json_auto_t *names = pool_tokens(pool, POOL_READY, err);
	const char *first = json_string_value(json_array_get(names, 0));
	auto_session struct microagent_session *member = NULL;

	if (!names)
		return -1;
	if (!first)
		return 0;
	member = session_handle(agent, first, err);
	return member ? check_with(member, spec, err) : -1;
}
