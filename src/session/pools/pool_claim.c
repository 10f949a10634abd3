/* SPDX-License-Identifier: MIT */
/* Creates a session. If possible, claims a member of a pool, by renaming the member's token.
 * Otherwise makes a session anew. */
#include <string.h>
#include <unistd.h>

#include "api/machine.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "session/pools/pool.h"

/* Returns true if the spec's quota is at least the default quota, which every member has. The quota
 * of a running member can be raised, but not lowered. */
static bool has_more(const struct base *base, const struct microagent_session_spec *spec)
{
	const struct microagent_session_spec plain = {0};
	int64_t wanted = 0, theirs = 0;

	return session_quota_of(base, spec, &wanted, NULL) == 0 &&
	       session_quota_of(base, &plain, &theirs, NULL) == 0 && wanted >= theirs;
}

/* Returns true if members have all the properties in `asked`. Ignores its shared directories,
 * because a member can be given directories when it is claimed. */
static bool has_all(const struct microagent_machine *asked)
{
	struct microagent_machine machine = *asked;

	machine.shares = NULL;
	machine.share_anyway = machine.share_git = false;
	if (machine.accelerator && strcmp(machine.accelerator, "auto") == 0)
		machine.accelerator = NULL;
	return machine_check(&machine, MACHINE_POOL, NULL) == 0;
}

/* Returns true if members fit the spec. Members have what every session has, and the pool's memory,
 * processors and network. A member can be given directories only if its backend has a spare port
 * for them. It cannot be given a directory for a review, whose image prepare makes before the machine
 * starts. */
static bool fits(const struct microagent *agent, const struct base *base,
		 const struct microagent_session_spec *spec, const struct pool_record *record)
{
	const struct contract_backend *backend = agent->backend;
	const struct microagent_machine machine = base_machine(base, &spec->machine);
	const char *network = machine.network ? machine.network : "nat";

	if (spec->cold || strcmp(backend->name, record->backend) != 0 ||
	    (backend->plugs && spec->no_share) ||
	    (session_has_share(spec) && !session_can_be_given(agent, spec)) ||
	    session_reviews(spec) > 0 || !has_all(&spec->machine))
		return false;
	if (spec->disk_quota_mib && !has_more(base, spec))
		return false;
	return machine.memory_mib == record->memory_mib && machine.cpus == record->cpus &&
	       strcmp(network, record->network) == 0;
}

/* Returns 1 if the machine runs, 0 if it does not, or -1 if this is unknown. If no process holds
 * the lease, the machine does not run, even if the recorded state says so. */
static int runs(const struct workspace *ws)
{
	enum state state = STATE_UNKNOWN;

	if (ws->fd < 0 || !lease_is_held(ws))
		return 0;
	return workspace_state(ws, &state, NULL, NULL) < 0 ? -1 : state == STATE_RUNNING;
}

int pool_member_lives(const struct microagent *agent, const char *name)
{
	char id[SESSION_ID_ROOM];
	struct error why = {0};
	struct state_dir dir;
	struct workspace ws;
	int lives = -1;

	if (state_sub_open(agent, SESSIONS_DIR, false, &dir, &why) < 0)
		return why.code == ERR_NOT_FOUND ? 0 : -1;
	snprintf(id, sizeof(id), "%s" BUNDLE_SUFFIX, name);
	if (workspace_open(&dir, id, false, &ws, NULL) == 0) {
		lives = runs(&ws);
		workspace_close(&ws);
	}
	state_dir_close(&dir);
	return lives;
}

/* Sets the mark in the session's directory which allows a sweep to remove the session. The caller
 * sets it only when no other process can take the member's token any more. Otherwise a sweep could
 * remove a session that another process has claimed. */
static bool own(const struct state_dir *dir, const char *id)
{
	struct workspace ws;
	bool owned;

	if (workspace_open(dir, id, false, &ws, NULL) < 0)
		return false;
	owned = ws.fd >= 0 && unfinished_own(&ws, NULL) == 0;
	workspace_close(&ws);
	return owned;
}

/* Marks the member before its token is taken, so that a sweep finds the session if this process
 * dies. While this process has the mark, no other process can claim the member. Returns false if
 * another process was first. */
static bool mark_member(const struct pool *pool, struct microagent_session *session)
{
	struct state_dir dir;
	bool ours = false;

	if (state_dir_open(session->agent->state_path, false, &dir, NULL) < 0)
		return false;
	session->mark = unfinished_mark(&dir, session->id, NULL);
	if (session->mark >= 0) {
		ours = pool_has(pool, POOL_READY, session->name) && own(&dir, session->id);
		/* Another process has claimed the session, so this process removes its mark. */
		if (!ours) {
			(void)unfinished_unmark(&dir, session->id, NULL);
			close(steal_fd(&session->mark));
		}
	}
	state_dir_close(&dir);
	return ours;
}

/* Returns true if the member has the properties in `record`. Since this process read the record,
 * another process may have replaced it and filled the pool with members of another kind. The kind
 * of one member never changes. */
static bool is_of_kind(const struct microagent_session *session, const struct pool_record *record)
{
	struct open_workspace existing = {0};
	const struct contract_backend *backend;
	json_auto_t *config = NULL;

	if (open_workspace_named(session->agent, session->id, &existing, NULL) < 0)
		return false;
	config = open_workspace_config(&existing, NULL);
	backend = request_backend_of(session->agent, &existing.ws);
	open_workspace_close(&existing);
	const json_t *network = json_object_get(json_object_get(config, "network"), "mode");
	return config && strcmp(backend->name, record->backend) == 0 &&
	       json_integer_value(json_object_get(config, "memoryMiB")) == record->memory_mib &&
	       json_integer_value(json_object_get(config, "cpuCount")) == record->cpus &&
	       json_is_string(network) && strcmp(json_string_value(network), record->network) == 0;
}

/* Claims the member `name`. Returns 1 with the member in *out, 0 if another process has claimed the
 * member or the member is unusable, or -1 with err set. If the member is unusable, this is not an
 * error, because the next member may be usable. A fault of this process, such as a lack of memory,
 * is an error. */
static int claim(const struct microagent *agent, const struct pool *pool,
		 const struct pool_record *record, const char *name,
		 struct microagent_session **out, struct error *err)
{
	auto_session struct microagent_session *session = session_handle(agent, name, err);
	struct error why = {0};

	if (!session)
		return -1;
	if (!is_of_kind(session, record) || !mark_member(pool, session) || !pool_take(pool, name))
		return 0;
	/* This process has claimed the member. Until the caller gets the member, the member's
	 * machine must end if this process exits. session_hold() arranges this. If session_hold()
	 * fails, the member is unusable. */
	if (pool_member_lives(agent, session->name) != 0 && session_hold(session, NULL) == 0 &&
	    session_read_record(session, &why) == 0) {
		*out = steal_ptr(&session);
		return 1;
	}
	session_unmake(session, NULL);
	pool_forget(pool, session->name);
	return why.errnum ? error_copy(err, &why) : 0;
}

static int claim_any(const struct microagent *agent, const struct pool *pool,
		     const struct pool_record *record, struct microagent_session **out,
		     struct error *err)
{
	json_auto_t *names = pool_tokens(pool, POOL_READY, err);
	auto_asking struct pool_asking asking = {0};
	const json_t *token;
	int status = 0;
	size_t i;

	if (!names || pool_asking_begin(&asking, json_array_size(names), err) < 0)
		return -1;
	json_array_foreach(names, i, token)
	{
		const char *name = json_string_value(token), *answering;
		uint64_t deadline;

		/* Another process may have claimed the member since the tokens were listed, so this
		 * is checked. */
		if (!pool_has(pool, POOL_READY, name) || pool_member_lives(agent, name) <= 0)
			continue;
		pool_ask(agent, &asking, name);
		/* Members that have answered are claimed before the next member is asked. */
		deadline = limit_deadline(LIMIT_POOL_ANSWER_MS);
		while (status == 0 && (answering = pool_asking_wait(&asking, deadline)))
			status = claim(agent, pool, record, answering, out, err);
		if (status != 0)
			break;
	}
	return status;
}

/* Gives a claimed member what the spec asks for beyond the properties of all members: a larger
 * quota, directories, and a lifetime or an idle time. No other process uses the member yet. */
static int furnish(struct microagent_session *session, const struct microagent_session_spec *spec,
		   struct error *err)
{
	if ((!spec->disk_quota_mib ||
	     microagent_session_set_quota(session, spec->disk_quota_mib, NULL, err) == 0) &&
	    (!session_has_share(spec) || session_share_claimed(session, spec, err) == 0) &&
	    ((!spec->lifetime_seconds && !spec->idle_seconds) ||
	     session_term_claimed(session, spec, err) == 0))
		return 0;
	session_unmake(session, err);
	return -1;
}

/* Claims a member of a pool. Returns 1 with a fitting member in *out, 0 if the pool has no such
 * member, or -1 with err set. The claimed member is marked as unfinished until session_made(). */
static int pool_claim(const struct microagent *agent, const struct base *base,
		      const struct microagent_session_spec *spec, struct microagent_session **out,
		      struct error *err)
{
	uint64_t began = clock_mono_ns();
	auto_session struct microagent_session *session = NULL;
	auto_pool struct pool pool = POOL_NONE;
	struct pool_record record;
	struct error why = {0};
	int status;

	if (pool_open(agent->state_path, base->name.full, &pool, &why) < 0 ||
	    pool_read(&pool, &record, &why) < 0)
		return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	pool_touch(&pool);
	if (agent->unconfined || !fits(agent, base, spec, &record))
		return 0;
	/* These checks come before the claim, so that a refused request uses up no member. */
	if (base_check(base, err) < 0 ||
	    (session_has_share(spec) && pool_check_share(agent, &pool, spec, err) < 0))
		return -1;
	status = claim_any(agent, &pool, &record, &session, err);
	if (status == 1) {
		session->claim_ms = (double)(clock_mono_ns() - began) / (double)NS_PER_MS;
		status = furnish(session, spec, err) < 0 ? -1 : 1;
	}
	/* If the filler cannot be started, this session is made anyway. Without a filler, the pool
	 * becomes empty, and each session is made when a user creates it, as without a pool. */
	(void)pool_filler_start(agent, &pool, NULL);
	if (status == 1)
		*out = steal_ptr(&session);
	return status;
}

/* --- created ---------------------------------------------------------------------------------- */

static int make_owned(struct microagent *agent, const struct base *base,
		      const struct microagent_session_spec *spec, struct microagent_session **out,
		      struct error *err)
{
	auto_session struct microagent_session *session = NULL;
	int claimed = pool_claim(agent, base, spec, &session, err);

	if (claimed < 0 || (claimed == 0 &&
			    session_make_booted(agent, base, spec, SESSION_NEW, &session, err) < 0))
		return -1;
	session->owned = spec->owned;
	*out = steal_ptr(&session);
	return 0;
}

int microagent_session_create(struct microagent *agent, const struct microagent_session_spec *spec,
			      struct microagent_session **out, struct error *err)
{
	return session_make_with(agent, spec, make_owned, out, err);
}

/* --- directories for a member ----------------------------------------------------------------  */

/* Checks that this member could be given the directories in the spec: asks the supervisor whether
 * it would prepare the member's config with them, as for a new session. Errors that are not about
 * the directories are ignored, because they mean that another process has claimed and destroyed the
 * member meanwhile. */
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
