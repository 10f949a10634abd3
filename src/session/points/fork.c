/* SPDX-License-Identifier: MIT */
/*
 * Makes a fork. The new sessions of a fork are called children, and the forked session is called
 * their parent. Each child has a copy of the parent's disk, and a machine that goes on from the
 * state of the parent's machine. The children are made from a point, which is removed afterwards.
 * Until all children are made, each child is marked as unfinished. So if this process dies, the
 * next sweep removes the children that were made. A fork makes all children or none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/hasher.h"
#include "contract/kind.h"
#include "session/points/point.h"
#include "store/audit.h"
#include "store/record_digest.h"

struct fork {
	struct microagent *agent; /* handle of the state directory */
	const struct microagent_session *parent;
	const struct workspace *ws; /* the parent's workspace */
	const struct microagent_fork_spec *spec;
	struct base base; /* the parent's base, which is locked, so that nobody deletes it before
			   * the fork is made */
	struct point point;
	json_t *record, *config; /* the contents of the parent's session.json; the parent's
				  * config */
	struct microagent_session **children;
	int64_t made;
};

/* --- a child --------------------------------------------------------------------------------- */

/* Writes session.json of a child, without the members that belong only to the parent. A child gets
 * the parent's lifetime and idle time. These two times begin when the child is ready. */
static int write_child_record(const struct fork *fork, struct microagent_session *child,
			      const struct workspace *ws, struct error *err)
{
	static const char *const kept[] = {"format",	      "base",	    "clone", "quotaBytes",
					   "lifetimeSeconds", "idleSeconds"};
	const struct term term = {
		.lifetime_s = json_integer_value(json_object_get(fork->record, "lifetimeSeconds")),
		.idle_s = json_integer_value(json_object_get(fork->record, "idleSeconds"))};
	json_auto_t *record = json_object();
	char now[CLOCK_TEXT];

	/* The parent's live supervisor may write the lifetime and the idle time into the parent's
	 * record. A guest may have taken the supervisor over, so the times are checked. */
	if (term_check(term.lifetime_s, term.idle_s, err) < 0)
		return -1;
	clock_rfc3339(clock_real_ns(), now);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		json_t *value = json_object_get(fork->record, kept[i]);

		if (value && json_put(record, kept[i], json_incref(value), err) < 0)
			return -1;
	}
	if (json_put_string(record, "name", child->name, err) < 0 ||
	    json_put_string(record, "createdAt", now, err) < 0 ||
	    json_put_string(record, "source", SESSION_FORK, err) < 0 ||
	    json_put_string(record, "parent", fork->parent->name, err) < 0 ||
	    workspace_write_accepted(ws, SESSION_RECORD, record, STORE_NO_SYNC, err) < 0 ||
	    session_ends_note(ws->dir, &term, err) < 0)
		return -1;
	child->quota_bytes = json_integer_value(json_object_get(record, "quotaBytes"));
	child->record = steal_ptr(&record);
	return 0;
}

/* Returns the config of a child: the parent's config with the disk and hostname of the child, and
 * without published ports. All other members must be those of the parent, because the child's
 * machine goes on from the state of the parent's machine. The caller releases the config. */
static json_t *child_config(const struct fork *fork, const struct microagent_session *child,
			    const struct workspace *ws, struct error *err)
{
	autofree char *disk = workspace_path(ws, SESSION_LAYER, err);
	json_auto_t *config = json_deep_copy(fork->config);

	/* Only one machine can publish a port of the host, and the parent still does. */
	json_object_del(json_object_get(config, "network"), "portForwards");
	if (!config || json_put_optional(config, "rootfsPath", disk, err) < 0 || !disk ||
	    json_put_string(config, "hostname", child->name, err) < 0)
		return NULL;
	return steal_ptr(&config);
}

struct child_making {
	const struct fork *fork;
	struct creation made;
	json_t *config;
};

static int clone_child(struct microagent_session *child, void *data, struct error *err)
{
	struct child_making *making = data;
	struct creation *made = &making->made;
	const struct fork *fork = making->fork;

	if (creation_empty(child->agent, child->id, made, err) < 0)
		return -1;
	making->config = child_config(fork, child, &made->ws, err);
	if (making->config && point_copy_disk(&fork->point, made->ws.fd, SESSION_LAYER, err) == 0 &&
	    reviews_copy(point_reviews(&fork->point), fork->ws->fd, made->ws.fd, STORE_NO_SYNC,
			 err) == 0 &&
	    write_child_record(fork, child, &made->ws, err) == 0)
		return 0;
	json_decref(steal_ptr(&making->config));
	creation_undo(made);
	creation_free(made);
	return -1;
}

static int note_child(const struct fork *fork, const struct microagent_session *child,
		      const struct workspace *ws, struct error *err)
{
	/* The lines in both audit logs name the parent and the child. */
	json_auto_t *data =
		json_pack("{s:s, s:s}", "parent", fork->parent->name, "child", child->name);
	const struct audit_event event = {AUDIT_INFO, "session", "session.forked", data, 0};

	if (!data)
		return error_errno(err, ENOMEM, "session");
	if (session_audit_begin(child, &fork->base, ws, err) < 0 || audit_note(ws, &event, err) < 0)
		return -1;
	return point_note(fork->ws, "forked", child->name, NULL, err);
}

static int prepare_child(const struct fork *fork, struct microagent_session *child,
			 struct error *err)
{
	struct child_making making = {.fork = fork, .made = CREATION_NONE};
	uint64_t began = clock_mono_ns();
	int status;

	if (session_draw_name(child, clone_child, &making, err) < 0)
		return -1;
	child->clone_ms = (double)(clock_mono_ns() - began) / (double)NS_PER_MS;
	status = request_call_with(child->agent, prepare_keeping, "prepare", child->id,
				   steal_ptr(&making.config), NULL, err);
	if (status == 0)
		status = note_child(fork, child, &making.made.ws, err);
	if (status < 0)
		creation_undo(&making.made);
	else
		child->mark = creation_done_marked(&making.made);
	creation_free(&making.made);
	return status;
}

/* Starts the machine of a child. Fails if the machine booted instead of going on from the parent's
 * state, because a child that has booted lacks the memory of the parent. */
static int boot_child(const struct fork *fork, struct microagent_session *child, struct error *err)
{
	json_auto_t *boot = NULL;

	if (point_boot(child, &fork->point, &boot, err) < 0)
		return error_prefix(err, "fork of session %s", fork->parent->name);
	if (strcmp(json_text(boot, "how", ""), "restored") == 0)
		return 0;
	error_set(err, ERR_CONFLICT,
		  "a fork of session %s did not go on from the state of the session: %s",
		  fork->parent->name, json_text(boot, "why", "the reason is not known"));
	return error_reason(err, REASON_SESSION_COLD,
			    json_text(fork->record, "base", fork->parent->name));
}

static int make_child(struct fork *fork, struct error *err)
{
	auto_session struct microagent_session *child = session_handle(fork->agent, "", err);

	if (!child)
		return -1;
	session_cancel_by(child, fork->spec->cancel);
	child->owned = fork->spec->owned;
	if (prepare_child(fork, child, err) < 0)
		return -1;
	if (boot_child(fork, child, err) < 0 ||
	    (fork->spec->on_fork && on_fork_run(child, fork->parent->name, fork->spec->on_fork,
						fork->spec->cancel, err) < 0)) {
		session_unmake(child, err);
		return -1;
	}
	fork->children[fork->made++] = steal_ptr(&child);
	return 0;
}

/* Fails if the child's machine has ended, or the child was put into quarantine, since the child was
 * made. */
static int refuse_ended(const struct fork *fork, const struct microagent_session *child,
			struct error *err)
{
	enum state state = STATE_UNKNOWN;
	struct open_workspace existing = {0};
	json_auto_t *event = NULL;
	bool lives;
	int status;

	if (open_workspace_named(child->agent, child->id, &existing, err) < 0)
		return -1;
	lives = lease_is_held(&existing.ws);
	status = workspace_state(&existing.ws, &state, &event, err);
	if (status == 0 && state == STATE_QUARANTINED)
		status = kind_say(KIND_KEPT, child->id, state_names[state], ERR_CONFLICT, err);
	else if (status == 0 && !lives)
		status = error_set(err, ERR_CONFLICT, "%s, a fork of session %s, is %s: %s",
				   child->name, fork->parent->name, state_names[state],
				   json_text(event, "detail", "its machine has ended"));
	open_workspace_close(&existing);
	return status;
}

/* --- all children ---------------------------------------------------------------------------- */

static int make_children(struct fork *fork, struct error *err)
{
	struct error why = {0};

	int64_t whole = 0;

	while (fork->made < fork->spec->count && make_child(fork, &why) == 0)
		;
	if (fork->made == fork->spec->count)
		while (whole < fork->made && refuse_ended(fork, fork->children[whole], &why) == 0)
			whole++;
	if (whole == fork->spec->count) {
		for (int64_t i = 0; i < fork->made; i++)
			session_made(fork->children[i]);
		return 0;
	}
	while (fork->made > 0) {
		struct microagent_session *child = fork->children[--fork->made];

		session_unmake(child, &why);
		microagent_session_close(child);
	}
	return error_copy(err, &why);
}

static int fork_in(struct fork *fork, const struct open_workspace *existing, json_t **told,
		   struct error *err)
{
	json_auto_t *saved = NULL;

	fork->ws = &existing->ws;
	fork->record = session_record_read(&existing->ws, err);
	fork->config = fork->record ? open_workspace_config(existing, err) : NULL;
	if (!fork->config || base_open(fork->agent, json_text(fork->record, "base", ""),
				       BASE_SHARED, &fork->base, err) < 0)
		return -1;
	sessions_sweep(fork->agent, NULL, NULL);
	if (point_begin(&existing->ws, &fork->point, err) < 0 ||
	    point_save(&fork->point, fork->parent, &existing->ws, false, &saved, err) < 0 ||
	    make_children(fork, err) < 0)
		return -1;
	*told = steal_ptr(&saved);
	return 0;
}

int microagent_session_fork(struct microagent_session *session,
			    const struct microagent_fork_spec *spec,
			    struct microagent_session **children, json_t **told, struct error *err)
{
	struct fork fork = {
		.parent = session, .spec = spec, .base = BASE_NONE, .point = POINT_NONE};
	int64_t most = (int64_t)limit_get(LIMIT_FORK_CHILDREN);
	struct open_workspace existing = {0};
	json_auto_t *saved = NULL;
	int before, status = -1;

	if (spec->count < 1 || spec->count > most)
		return error_set(err, ERR_INVALID,
				 "a fork makes from 1 to %lld sessions, and %lld are asked for",
				 (long long)most, (long long)spec->count);
	if (on_fork_check(spec->on_fork, err) < 0)
		return -1;
	before = digest_cancel_by(spec->cancel > 0 ? spec->cancel : -1);
	if ((fork.agent = state_agent(session->agent, err)) != NULL &&
	    open_workspace_named(session->agent, session->id, &existing, err) == 0) {
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): the array contains pointers */
		fork.children = calloc((size_t)spec->count, sizeof(*fork.children));
		status = fork.children ? fork_in(&fork, &existing, &saved, err)
				       : error_errno(err, ENOMEM, "fork");
		open_workspace_close(&existing);
	}
	if (status == 0) {
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): likewise */
		memcpy(children, fork.children, (size_t)spec->count * sizeof(*children));
		if (told)
			*told = steal_ptr(&saved);
	}
	point_close(&fork.point);
	base_close(&fork.base);
	json_decref(fork.record);
	json_decref(fork.config);
	microagent_close(fork.agent);
	free(fork.children);
	digest_cancel_by(before);
	return status;
}
