/* SPDX-License-Identifier: MIT */
#include "channel/network_edit.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/egress_rule.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/prefix.h"
#include "channel/publish.h"

/* Returns the list at the key. Adds an empty list if the key is missing. */
static json_t *network_list(json_t *object, const char *key)
{
	json_t *list = json_object_get(object, key);

	if (!list && json_object_set_new(object, key, json_array()) == 0)
		list = json_object_get(object, key);
	return list;
}

/* --- the rules of egress ---------------------------------------------------------------------- */

static json_t *egress_of(json_t *network, struct error *err)
{
	json_t *egress = json_object_get(network, "egress");

	if (!egress)
		error_set(
			err, ERR_CONFLICT,
			"its network has no list of names, and cannot get one while the machine runs: make the machine with config.network.egress");
	return egress;
}

static const char *list_of_rule(const char *rule)
{
	return strchr(rule, '/') ? "prefixes" : "names";
}

static int edit_allow(json_t *network, const json_t *request, struct error *err)
{
	json_t *egress = egress_of(network, err);
	const char *rule = NULL;

	if (!egress || json_get_string(request, "", "rule", JSON_REQUIRED, &rule, err) < 0)
		return -1;
	return json_array_append_new(network_list(egress, list_of_rule(rule)), json_string(rule)) <
			       0
		       ? error_errno(err, ENOMEM, "egress")
		       : 0;
}

/* Returns true if a request to remove `rule` removes this item of the list. A rule with ports, or a
 * prefix, removes only the item that is equal to the rule. A rule without ports removes every item
 * with the name of the rule. */
static bool is_rule_meant(const char *item, const char *rule)
{
	struct egress_rule listed, wanted;
	struct prefix a, b;

	if (strchr(rule, '/'))
		return prefix_parse(item, &a) == 0 && prefix_parse(rule, &b) == 0 &&
		       a.address == b.address && a.bits == b.bits;
	if (egress_rule_parse(item, &listed, NULL) < 0 ||
	    egress_rule_parse(rule, &wanted, NULL) < 0)
		return false;
	return strchr(rule, ':') ? egress_rule_same(&listed, &wanted)
				 : strcmp(listed.name, wanted.name) == 0;
}

static int edit_deny(json_t *network, const json_t *request, struct error *err)
{
	json_t *egress = egress_of(network, err), *list;
	const char *rule = NULL;
	size_t count;

	if (!egress || json_get_string(request, "", "rule", JSON_REQUIRED, &rule, err) < 0)
		return -1;
	list = json_object_get(egress, list_of_rule(rule));
	count = json_array_size(list);
	for (size_t i = count; i-- > 0;)
		if (is_rule_meant(json_string_value(json_array_get(list, i)), rule))
			json_array_remove(list, i);
	if (json_array_size(list) < count)
		return 0;
	return error_set(err, ERR_NOT_FOUND,
			 "its list of names does not have \"%.280s\": give an entry of the list",
			 rule);
}

/* --- published ports -------------------------------------------------------------------------- */

/* Adds a forward. Fails if the list has the largest number of forwards already: with one more,
 * every later start would refuse the record. */
static int edit_publish(json_t *network, const json_t *request, struct error *err)
{
	json_t *list = network_list(network, "portForwards"), *forward = NULL;

	if (json_get_object(request, "", "forward", JSON_REQUIRED, &forward, err) < 0)
		return -1;
	if (json_array_size(list) >= limit_get(LIMIT_PUBLISHES))
		return error_set(
			err, ERR_CONFLICT,
			"it already publishes %zu ports, the most for one machine: take one back first",
			json_array_size(list));
	return json_array_append(list, forward) < 0 ? error_errno(err, ENOMEM, "portForwards") : 0;
}

static bool is_same_listener(const json_t *a, const json_t *b)
{
	static const char *const keys[] = {"host", "hostPort"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
			return false;
	return true;
}

static int edit_unpublish(json_t *network, const json_t *request, struct error *err)
{
	json_t *list = json_object_get(network, "portForwards"), *forward = NULL;
	char name[PUBLISH_NAME];

	if (json_get_object(request, "", "forward", JSON_REQUIRED, &forward, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (is_same_listener(json_array_get(list, i), forward)) {
			json_array_remove(list, i);
			return 0;
		}
	if (!json_text(forward, "host", NULL))
		return error_set(err, ERR_INVALID, "forward.host is required");
	publish_name(forward, name);
	error_set(err, ERR_NOT_FOUND, "it publishes no port at %s", name);
	return error_reason(err, REASON_PORT_NOT_PUBLISHED, "");
}

/* --- all changes ------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	int (*edit)(json_t *network, const json_t *request, struct error *err);
} edits[] = {
	{"allow", edit_allow},
	{"deny", edit_deny},
	{"publish", edit_publish},
	{"unpublish", edit_unpublish},
};

/* Returns the index of the edit that the request names; ARRAY_SIZE(edits), with an error, if the
 * request names no edit. */
static size_t find_edit(const json_t *request, struct error *err)
{
	const char *name = NULL;

	if (json_get_string(request, "", "change", JSON_REQUIRED, &name, err) < 0)
		return ARRAY_SIZE(edits);
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++)
		if (strcmp(edits[i].name, name) == 0)
			return i;
	error_set(err, ERR_INVALID,
		  "the change of a network must be allow, deny, publish or unpublish");
	return ARRAY_SIZE(edits);
}

const char *network_change_name(const json_t *request, struct error *err)
{
	size_t i = find_edit(request, err);

	return i < ARRAY_SIZE(edits) ? edits[i].name : NULL;
}

json_t *network_edited(const json_t *network, const json_t *request, struct error *err)
{
	size_t i = find_edit(request, err);
	json_auto_t *edited = NULL;

	if (i == ARRAY_SIZE(edits))
		return NULL;
	edited = json_deep_copy(network);
	if (!edited) {
		error_errno(err, ENOMEM, "network");
		return NULL;
	}
	return edits[i].edit(edited, request, err) < 0 ? NULL : steal_ptr(&edited);
}
