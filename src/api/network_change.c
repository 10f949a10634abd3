/* SPDX-License-Identifier: MIT */
/* Changes the network of a running workspace. The live supervisor makes the change, but may not
 * bind sockets. So this process binds the socket of a newly published port, with the rights of its
 * user. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/explain.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/control.h"
#include "channel/network_edit.h"
#include "channel/publish.h"
#include "contract/kind.h"
#include "contract/request.h"
#include "store/port_holder.h"
#include "store/record_digest.h"

/* Returns the published port in the form of the protocol, in which there is always a host. */
static json_t *canonical_forward(const char *word, struct error *err)
{
	json_auto_t *given = channels_forward(word, err);
	json_auto_t *network = NULL, *decoded = NULL;

	if (!given)
		return NULL;
	network = json_pack("{s:s, s:[O]}", "mode", "nat", "portForwards", given);
	decoded = network ? network_decode(network, err) : NULL;
	return json_incref(json_array_get(json_object_get(decoded, "portForwards"), 0));
}

/* Parses [HOST:]HOSTPORT, and returns it as a published port whose port of the guest is a
 * placeholder. */
static json_t *forward_to_end(const char *word, struct error *err)
{
	char whole[96];
	struct error ignored;
	json_t *forward;

	if ((size_t)snprintf(whole, sizeof(whole), "%s:1", word) >= sizeof(whole) ||
	    !(forward = canonical_forward(whole, &ignored))) {
		error_set(err, ERR_INVALID,
			  "\"%.100s\" does not name a published port: write [HOST:]HOSTPORT", word);
		return NULL;
	}
	return forward;
}

static json_t *rule_json(const char *word, struct error *err)
{
	return microagent_check_egress(word, err) < 0 ? NULL : json_string(word);
}

static const struct {
	const char *name, *key;
	json_t *(*what)(const char *word, struct error *err);
} changes[] = {
	[MICROAGENT_NETWORK_ALLOW] = {"allow", "rule", rule_json},
	[MICROAGENT_NETWORK_DENY] = {"deny", "rule", rule_json},
	[MICROAGENT_NETWORK_PUBLISH] = {"publish", "forward", canonical_forward},
	[MICROAGENT_NETWORK_UNPUBLISH] = {"unpublish", "forward", forward_to_end},
};

int microagent_check_network_change(enum microagent_network_change change, const char *word,
				    struct error *err)
{
	json_auto_t *what = changes[change].what(word, err);

	return what ? 0 : -1;
}

/* Returns the deadline for a change, in the time of clock_mono_ns(). */
static uint64_t change_deadline(void)
{
	return clock_mono_ns() +
	       (limit_get(LIMIT_CONTROL_REQUEST_MS) + limit_get(LIMIT_PUBLISH_MS)) * NS_PER_MS;
}

/* Returns the value of workspace.json that the live supervisor will write, as a new reference.
 * Returns NULL without setting err if the live supervisor will refuse the change; its answer will
 * say why. */
static json_t *changed_record(const struct workspace *ws, const json_t *request, struct error *err)
{
	json_auto_t *record = workspace_read_accepted(ws, "workspace.json", err);
	json_t *config = json_object_get(record, "config");
	json_auto_t *edited = network_edited(json_object_get(config, "network"), request, NULL);
	json_t *network = edited ? network_decode(edited, NULL) : NULL;

	if (!network)
		return NULL;
	return json_put(config, "network", network, err) < 0 ? NULL : steal_ptr(&record);
}

/* Asks the live supervisor for the change. The live supervisor itself writes the new record.
 * Because a guest may have taken over the live supervisor, this process first records the digest of
 * the expected record. So no other new record is accepted. */
static int ask_change(const struct open_workspace *existing, const json_t *request, int listener,
		      json_t **answer, struct error *err)
{
	const struct workspace *ws = &existing->ws;
	autoclose int lock = record_change_lock(ws, change_deadline(), err);
	struct error why = {0};
	json_auto_t *changed = lock < 0 ? NULL : changed_record(ws, request, &why);

	if (lock < 0)
		return -1;
	if (why.code)
		return error_copy(err, &why);
	if ((changed && record_digest_announce(ws, "workspace.json", changed, err) < 0) ||
	    control_ask_passing(ws->fd, request, listener, change_deadline(), answer, err) < 0)
		return -1;
	/* If this fails, the previous record stays accepted too, until the next start. */
	if (changed)
		(void)record_digest_settle(ws, "workspace.json", changed, NULL);
	return 0;
}

/* Sets the error for a port that is not available. If this workspace itself already publishes the
 * port, the message says so. The general message names the workspace that holds the port, and the
 * user might stop that workspace to free the port. */
static int explain_taken(const struct workspace *ws, const json_t *wanted, const struct error *why,
			 struct error *err)
{
	json_auto_t *own = why->code == ERR_UNAVAILABLE ? port_holder_entry(ws, wanted) : NULL;
	char name[KIND_NAME_ROOM], has[PUBLISH_NAME], port[PUBLISH_NAME];
	char subject[sizeof(err->subject)];

	if (!own)
		return error_copy(err, why);
	kind_name(ws->id, name);
	publish_name(own, has);
	publish_name(wanted, port);
	snprintf(subject, sizeof(subject), "%.*s %s", (int)kind_name_length(ws->id), ws->id, has);
	error_set(
		err, ERR_CONFLICT,
		"cannot publish %s: %s already publishes %s to port %lld of the guest, so that port of both IPv4 and IPv6 is taken",
		port, name, has, (long long)json_integer_value(json_object_get(own, "guestPort")));
	return error_reason(err, REASON_PORT_PUBLISHED, subject);
}

/* Puts the name of the workspace before the live supervisor's message. Such a message calls the
 * workspace only "it". */
static int name_workspace(const struct workspace *ws, struct error *why, struct error *err)
{
	char name[KIND_NAME_ROOM], subject[sizeof(err->subject)];

	kind_name(ws->id, name);
	if (strncmp(why->msg, "it ", 3) == 0 || strncmp(why->msg, "its ", 4) == 0)
		error_prefix(why, "%s", name);
	if (why->reason == REASON_PORT_NOT_PUBLISHED) {
		snprintf(subject, sizeof(subject), "%.*s", (int)kind_name_length(ws->id), ws->id);
		error_reason(why, why->reason, subject);
	}
	return error_copy(err, why);
}

int microagent_change_network(struct microagent *agent, const char *name,
			      enum microagent_network_change change, const char *word,
			      json_t **network, struct error *err)
{
	json_auto_t *what = changes[change].what(word, err);
	json_auto_t *request = NULL, *answer = NULL;
	auto_existing struct open_workspace existing = {0};
	autoclose int listener = -1;
	struct error why = {0};

	if (!what || open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	request = json_pack("{s:s, s:s, s:O}", "command", "network", "change", changes[change].name,
			    changes[change].key, what);
	if (!request)
		return error_errno(err, ENOMEM, "network");
	/* The state is checked first, so that the error for a workspace that does not run is about
	 * its state, and not about the port. */
	if (explain_must_run(&existing.ws, err) < 0)
		return -1;
	if (change == MICROAGENT_NETWORK_PUBLISH) {
		listener = publish_bind(what, &why);
		if (listener < 0)
			return explain_taken(&existing.ws, what, &why, err);
	}
	if (ask_change(&existing, request, listener, &answer, &why) < 0) {
		explain_nobody_listens(&existing.ws, &why);
		return name_workspace(&existing.ws, &why, err);
	}
	if (network)
		*network = json_incref(json_object_get(answer, "network"));
	return 0;
}
