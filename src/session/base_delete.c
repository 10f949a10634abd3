/* SPDX-License-Identifier: MIT */
/* Deletes a base, which must have no session and no pool. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "session/pools/pool.h"
#include "session/templates/template.h"

/* Returns true if the session's record is damaged. Such a session may have been cloned from any
 * base, so no base is deleted while it exists. */
static bool is_unreadable(const struct microagent *agent, const char *name)
{
	auto_session struct microagent_session *session = session_handle(agent, name, NULL);
	struct error why = {0};

	return !session || (session_read_record(session, &why) < 0 && why.code == ERR_IO);
}

/* Fails if the base has a pool, or if a session was cloned from the base. A pool without sessions
 * is also a reason to fail, because it makes sessions of the base later. */
static int refuse_used(struct microagent *agent, const struct base *base, struct error *err)
{
	auto_pool struct pool pool = POOL_NONE;
	json_auto_t *answer = NULL;
	struct pool_record record;
	struct error why = {0};
	const json_t *session;
	size_t i;

	if ((pool_open(agent->state_path, base->name.full, &pool, &why) == 0 &&
	     pool_read(&pool, &record, &why) == 0) ||
	    why.code != ERR_NOT_FOUND) {
		error_set(err, ERR_CONFLICT, "base %s cannot be deleted, because it has a pool",
			  base->name.full);
		return error_reason(err, REASON_BASE_OF_POOL, base->name.full);
	}
	answer = microagent_session_list(agent, err);
	if (!answer)
		return -1;
	json_array_foreach(json_object_get(answer, "sessions"), i, session)
	{
		const char *of = json_text(session, "base", NULL);
		const char *name = json_text(session, "name", NULL);

		if (of && strcmp(of, base->name.full) == 0)
			error_set(err, ERR_CONFLICT,
				  "session %s is made of base %s, so this base cannot be deleted",
				  name, base->name.full);
		else if (!of && is_unreadable(agent, name))
			error_set(
				err, ERR_CONFLICT,
				"session %s may be made of base %s, so this base cannot be deleted: the session's " SESSION_RECORD
				" cannot be read",
				name, base->name.full);
		else
			continue;
		return error_reason(err, REASON_BASE_OF_SESSION, name);
	}
	return 0;
}

int microagent_base_delete(struct microagent *agent, const char *word, struct error *err)
{
	auto_base struct base base = BASE_NONE;
	struct base_name name;

	if (base_name_parse(word, &name, err) < 0)
		return -1;
	if (!name.version) {
		error_set(err, ERR_INVALID,
			  "%s is not one version of a base: the name of a version ends in -vN",
			  word);
		return error_reason(err, REASON_BASE_VERSIONLESS, word);
	}
	bases_sweep(agent, NULL);
	templates_sweep(agent, NULL);
	if (base_open(agent, word, BASE_EXCLUSIVE, &base, err) < 0 ||
	    refuse_used(agent, &base, err) < 0)
		return -1;
	return base_remove(agent, &base, err);
}
