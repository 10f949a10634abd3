/* SPDX-License-Identifier: MIT */
/*
 * The network of a machine that runs, changed: a name or prefix that egress opens, or no more; a
 * port that is published, or no more. A change is one of config.network, which the contract judges
 * as it judges a request's, and which workspace.json has from then on, so that the next start has
 * it too. What is opened is recorded before the answer and taken back where it cannot be; what is
 * shut stays shut.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/network_edit.h"
#include "supervisor/inputs/manifest.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/live/network_change.h"
#include "supervisor/refusals.h"

static bool list_has_item(const json_t *list, const json_t *item)
{
	const json_t *other;
	size_t i;

	json_array_foreach(list, i, other)
	{
		if (json_equal(other, item))
			return true;
	}
	return false;
}

int network_each_more(struct live *live, const json_t *of, const json_t *without,
		      network_item_fn *fn, struct error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(of, i, item)
	{
		if (!list_has_item(without, item) && fn(live, item, err) < 0)
			return -1;
	}
	return 0;
}

void network_tell(struct live *live, const char *event, json_t *data, const char *text)
{
	if (live->audit)
		log_line(&live->log, "%s", text);
	else
		live_remark(live, text);
	live_audit_step(live, "network", event, data);
}

static void live_tell(struct live *live, const json_t *before, const json_t *after)
{
	live_egress_tell(live, before, after);
	live_publish_tell(live, before, after);
}

static void answer_change(struct live *live, const struct error *why)
{
	struct control_client *client = steal_ptr(&live->change.client);
	json_auto_t *answer = why ? control_sock_refusal(why)
				  : json_pack("{s:b, s:O}", "ok", 1, "network", live->change.after);

	loop_remove(steal_ptr(&live->change.timer));
	json_decref(steal_ptr(&live->change.before));
	json_decref(steal_ptr(&live->change.after));
	json_decref(steal_ptr(&live->change.document));
	live->change.of = NULL;
	if (client)
		control_sock_answer(client, answer);
}

/* It is done: recorded, told and answered, or taken back. */
static void finish_change(struct live *live)
{
	const struct network_change *of = live->change.of;
	json_t *config = json_object_get(live->change.document, "config");
	struct error why = {0};

	if (json_put(config, "network", json_incref(live->change.after), &why) < 0 ||
	    workspace_write(&live->ws, MANIFEST_FILE, live->change.document, STORE_SYNC, &why) <
		    0) {
		if (of->undo)
			of->undo(live, live->change.before, live->change.after);
		else
			live_tell(live, live->change.before, live->change.after);
		error_prefix(&why, of->undo ? "it cannot be recorded"
					    : "it is done, and the next start will not know of it");
		answer_change(live, &why);
		return;
	}
	live_tell(live, live->change.before, live->change.after);
	answer_change(live, NULL);
}

static void fail_change(struct live *live, const struct error *why)
{
	if (live->change.of->undo)
		live->change.of->undo(live, live->change.before, live->change.after);
	answer_change(live, why);
}

void live_published(struct live *live, const char *said)
{
	struct error why;

	if (!live->change.of || !live->change.of->waits)
		return;
	if (!said) {
		finish_change(live);
		return;
	}
	error_set(&why, ERR_IO, "the guest cannot listen for it: %.400s", said);
	fail_change(live, &why);
}

/* A guest that does not know the question passes it over. */
static void on_publish_timer(struct loop *loop, void *data)
{
	struct live *live = data;
	struct error why;

	(void)loop;
	live->change.timer = NULL;
	error_set(&why, ERR_TIMEOUT,
		  "the guest does not say within %llu ms that it listens for the port: its agent "
		  "may be of a version that cannot",
		  (unsigned long long)limit_get(LIMIT_PUBLISH_MS));
	fail_change(live, &why);
}

void live_network_cut(struct live *live, const char *how)
{
	struct error why;

	if (!live->change.of)
		return;
	error_set(&why, ERR_CONFLICT, "it %s before that was done", how);
	answer_change(live, &why);
}

static int may_change(const struct live *live, struct error *err)
{
	if (live->severed)
		return error_set(err, ERR_CONFLICT,
				 "it is quarantined: nothing of its network is changed any more");
	if (live->state != STATE_RUNNING || live->outcome.intent != INTENT_NONE)
		return error_set(err, ERR_CONFLICT, "it is ending or not yet running");
	if (live->change.of)
		return error_set(err, ERR_UNAVAILABLE, "its network is being changed already");
	return 0;
}

static int begin_change(struct live *live, const struct network_change *of, const json_t *request,
			struct control_client *client, struct error *err)
{
	json_auto_t *document = workspace_read(&live->ws, MANIFEST_FILE, err);
	json_auto_t *before = NULL, *edited = NULL, *after = NULL;
	struct config changed = {0};
	json_t *config;
	int status;

	if (!document)
		return -1;
	config = json_object_get(document, "config");
	before = json_deep_copy(json_object_get(config, "network"));
	if (!before)
		return error_errno(err, ENOMEM, MANIFEST_FILE);
	edited = network_edited(before, request, err);
	after = edited ? network_decode(edited, err) : NULL;
	if (!after || json_put(config, "network", json_incref(after), err) < 0 ||
	    config_from_record(config, &changed, err) < 0)
		return -1;
	/* What no machine of the backend can have is refused as for a request. */
	status = refusals_check(live->backend->refusals, &changed, err);
	config_free(&changed);
	if (status < 0 || of->apply(live, before, after, client, err) < 0)
		return -1;
	live->change.of = of;
	live->change.client = client;
	live->change.document = steal_ptr(&document);
	live->change.before = steal_ptr(&before);
	live->change.after = steal_ptr(&after);
	control_sock_defer(client);
	return 0;
}

int live_network(struct live *live, const json_t *request, struct control_client *client,
		 struct error *err)
{
	static const struct network_change *const changes[] = {&change_allow, &change_deny,
							       &change_publish, &change_unpublish};
	const struct network_change *of = NULL;
	const char *name = network_change_name(request, err);

	if (!name)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		if (strcmp(changes[i]->name, name) == 0)
			of = changes[i];
	if (!of)
		return error_set(err, ERR_INTERNAL, "no live supervisor makes the change %s", name);
	if (may_change(live, err) < 0 || begin_change(live, of, request, client, err) < 0)
		return -1;
	if (!of->waits) {
		finish_change(live);
		return 0;
	}
	live->change.timer = loop_add_timer(live->loop, limit_deadline(LIMIT_PUBLISH_MS),
					    on_publish_timer, live, err);
	if (!live->change.timer)
		fail_change(live, err);
	return 0;
}
