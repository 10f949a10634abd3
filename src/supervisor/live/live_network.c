/* SPDX-License-Identifier: MIT */
/*
 * Changes the network of a running machine. A change allows a name or prefix for egress, forbids it
 * again, publishes a port, or unpublishes it. Each change edits config.network. The result is
 * checked like the config.network of a request (contract/). The change is written to
 * workspace.json, so that the next start has it too. A change that gives access is recorded before
 * the client gets its answer. If the change cannot be recorded, it is undone. A change that takes
 * access away is never undone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/network_edit.h"
#include "channel/publish.h"
#include "supervisor/inputs/manifest.h"
#include "supervisor/live/channels.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/refusals.h"

/* A kind of change of config.network, and the function that applies the change to the machine
 * (channel/network_edit.h). `before` and `after` are the canonical forms of config.network before
 * and after the change. */
struct network_change {
	const char *name;
	int (*apply)(struct live *live, const json_t *before, const json_t *after,
		     struct control_client *client, struct error *err);
	/* Undoes apply() if the change cannot be recorded or has failed in the guest. NULL: the
	 * change is never undone. */
	void (*undo)(struct live *live, const json_t *before, const json_t *after);
	/* The change is complete only when the guest has confirmed it (live_published()). */
	bool waits;
};

typedef int network_item_fn(struct live *live, const json_t *item, struct error *err);

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

/* Calls `fn` for each item that is in the list `of` but not in the list `without`. Both lists may
 * be NULL. */
static int each_more(struct live *live, const json_t *of, const json_t *without,
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

/* Records a change. If there is an audit log, writes `event` with `data` to it, and `text` to
 * supervisor.log. Otherwise records an event of the workspace with `text`. Releases `data`. */
static void tell_change(struct live *live, const char *event, json_t *data, const char *text)
{
	if (live->audit)
		log_line(&live->log, "%s", text);
	else
		live_remark(live, text);
	live_audit_step(live, "network", event, data);
}

/* --- egress ---------------------------------------------------------------------------------- */

static const char *const egress_lists[] = {"names", "prefixes"};

static int each_rule_more(struct live *live, const json_t *of, const json_t *without,
			  network_item_fn *fn, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(egress_lists); i++)
		if (each_more(live, json_object_get(json_object_get(of, "egress"), egress_lists[i]),
			      json_object_get(json_object_get(without, "egress"), egress_lists[i]),
			      fn, err) < 0)
			return -1;
	return 0;
}

static int open_rule(struct live *live, const json_t *rule, struct error *err)
{
	return live->backend->egress(live->vm, true, json_string_value(rule), err);
}

static int shut_rule(struct live *live, const json_t *rule, struct error *err)
{
	return live->backend->egress(live->vm, false, json_string_value(rule), err);
}

static int apply_allow(struct live *live, const json_t *before, const json_t *after,
		       struct control_client *client, struct error *err)
{
	(void)client;
	return each_rule_more(live, after, before, open_rule, err);
}

static int apply_deny(struct live *live, const json_t *before, const json_t *after,
		      struct control_client *client, struct error *err)
{
	(void)client;
	return each_rule_more(live, before, after, shut_rule, err);
}

static void undo_allow(struct live *live, const json_t *before, const json_t *after)
{
	struct error ignored;

	(void)each_rule_more(live, after, before, shut_rule, &ignored);
}

static int tell_allowed(struct live *live, const json_t *rule, struct error *err)
{
	const char *name = json_string_value(rule);
	char text[400];

	(void)err;
	snprintf(text, sizeof(text), "network: %.320s is allowed", name);
	tell_change(live, "net.allowed", json_pack("{s:s}", "rule", name), text);
	return 0;
}

static int tell_denied(struct live *live, const json_t *rule, struct error *err)
{
	const char *name = json_string_value(rule);
	char text[400];

	(void)err;
	snprintf(text, sizeof(text), "network: %.320s is no longer allowed", name);
	tell_change(live, "net.denied", json_pack("{s:s}", "rule", name), text);
	return 0;
}

static void tell_egress(struct live *live, const json_t *before, const json_t *after)
{
	(void)each_rule_more(live, after, before, tell_allowed, NULL);
	(void)each_rule_more(live, before, after, tell_denied, NULL);
}

static const struct network_change change_allow = {"allow", apply_allow, undo_allow, false};
static const struct network_change change_deny = {"deny", apply_deny, NULL, false};

/* --- published ports ------------------------------------------------------------------------------ */

static int close_port(struct live *live, const json_t *forward, struct error *err)
{
	(void)err;
	if (channels_unpublish(live->channels, forward))
		control_stream_unpublish(live->control, forward);
	return 0;
}

static void undo_publish(struct live *live, const json_t *before, const json_t *after)
{
	(void)each_more(live, json_object_get(after, "portForwards"),
			json_object_get(before, "portForwards"), close_port, NULL);
}

static int apply_publish(struct live *live, const json_t *before, const json_t *after,
			 struct control_client *client, struct error *err)
{
	const json_t *list = json_object_get(after, "portForwards");
	const json_t *forward = json_array_get(list, json_array_size(list) - 1);
	autoclose int port = control_sock_passed(client);
	struct error why = {0};

	if (port < 0)
		return error_set(
			err, ERR_INVALID,
			"the port cannot be published, because no socket came with the request: this is a bug of the program that asked");
	if (channels_hold(port, &why) < 0 && why.errnum != ENOTSUP)
		return error_set(
			err, ERR_INVALID,
			"the port cannot be published, because the socket that came with the request cannot hold the port: %s; this is a bug of the program that asked",
			why.msg);
	if (channels_publish(live->channels, forward, steal_fd(&port), err) < 0)
		return -1;
	if (control_stream_publish(live->control, forward, err) == 0)
		return 0;
	undo_publish(live, before, after);
	return -1;
}

static int apply_unpublish(struct live *live, const json_t *before, const json_t *after,
			   struct control_client *client, struct error *err)
{
	(void)client;
	return each_more(live, json_object_get(before, "portForwards"),
			 json_object_get(after, "portForwards"), close_port, err);
}

static json_t *port_told(const json_t *forward)
{
	return json_pack("{s:O, s:O, s:O}", "host", json_object_get(forward, "host"), "hostPort",
			 json_object_get(forward, "hostPort"), "guestPort",
			 json_object_get(forward, "guestPort"));
}

static int tell_published(struct live *live, const json_t *forward, struct error *err)
{
	char name[PUBLISH_NAME], text[160];

	(void)err;
	publish_name(forward, name);
	snprintf(text, sizeof(text), "network: %s leads to port %d", name,
		 (int)json_integer_value(json_object_get(forward, "guestPort")));
	tell_change(live, "net.published", port_told(forward), text);
	return 0;
}

static int tell_unpublished(struct live *live, const json_t *forward, struct error *err)
{
	char name[PUBLISH_NAME], text[160];

	(void)err;
	publish_name(forward, name);
	snprintf(text, sizeof(text), "network: %s is no longer published", name);
	tell_change(live, "net.unpublished", port_told(forward), text);
	return 0;
}

static void tell_ports(struct live *live, const json_t *before, const json_t *after)
{
	const json_t *old = json_object_get(before, "portForwards");
	const json_t *new = json_object_get(after, "portForwards");

	(void)each_more(live, new, old, tell_published, NULL);
	(void)each_more(live, old, new, tell_unpublished, NULL);
}

static const struct network_change change_publish = {"publish", apply_publish, undo_publish, true};
static const struct network_change change_unpublish = {"unpublish", apply_unpublish, NULL, false};

/* --- the change ----------------------------------------------------------------------------------- */

/* Records each difference between the two forms of config.network. */
static void tell_changes(struct live *live, const json_t *before, const json_t *after)
{
	tell_egress(live, before, after);
	tell_ports(live, before, after);
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

/* Finishes a change that was applied: records and reports it, and answers the client. If the change
 * cannot be recorded, undoes it if possible. */
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
			tell_changes(live, live->change.before, live->change.after);
		error_prefix(
			&why,
			of->undo
				? "the change of the network cannot be recorded, so it was undone"
				: "the network was changed, but the next start will not have the change");
		answer_change(live, &why);
		return;
	}
	tell_changes(live, live->change.before, live->change.after);
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
	error_set(&why, ERR_IO, "the guest cannot listen on the port: %.400s", said);
	fail_change(live, &why);
}

/* Fails a change, since the guest has not answered in time. An agent that does not know the message
 * does not answer. */
static void on_publish_timer(struct loop *loop, void *data)
{
	struct live *live = data;
	struct error why;

	(void)loop;
	live->change.timer = NULL;
	error_set(
		&why, ERR_TIMEOUT,
		"the guest did not confirm within %llu ms that it listens on the port: its agent may be too old to do so",
		(unsigned long long)limit_get(LIMIT_PUBLISH_MS));
	fail_change(live, &why);
}

void live_network_cut(struct live *live, const char *how)
{
	struct error why;

	if (!live->change.of)
		return;
	error_set(&why, ERR_CONFLICT,
		  "the network was not changed, because the machine %s before the change was done",
		  how);
	answer_change(live, &why);
}

static int may_change(const struct live *live, struct error *err)
{
	if (live->severed)
		return error_set(
			err, ERR_CONFLICT,
			"the machine is quarantined: its network cannot be changed any more");
	if (live->state != STATE_RUNNING || live->outcome.intent != INTENT_NONE)
		return error_set(
			err, ERR_CONFLICT,
			"the machine is ending or not yet running: try again when it is running");
	if (live->change.of)
		return error_set(
			err, ERR_UNAVAILABLE,
			"the network is being changed by another request: try again when that request has ended");
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
	/* Refuses the change if the backend does not support the changed config, as for a request
	 * with that config. */
	status = refusals_check(live->backend->name, live->backend->refusals, &changed, err);
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
		return error_set(
			err, ERR_INTERNAL,
			"the live supervisor does not know the change \"%s\" of a network: this is a bug, or the program that asked is of a newer version",
			name);
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
