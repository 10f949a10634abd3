/* SPDX-License-Identifier: MIT */
/* What egress opens by name, while the machine runs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/egress_rule.h"
#include "base/json.h"
#include "base/prefix.h"
#include "supervisor/live/network_change.h"

static const char *const egress_lists[] = {"names", "prefixes"};

static int each_rule_more(struct live *live, const json_t *of, const json_t *without,
			  network_item_fn *fn, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(egress_lists); i++)
		if (network_each_more(
			    live, json_object_get(json_object_get(of, "egress"), egress_lists[i]),
			    json_object_get(json_object_get(without, "egress"), egress_lists[i]),
			    fn, err) < 0)
			return -1;
	return 0;
}

static json_t *egress_of(json_t *network, struct error *err)
{
	json_t *egress = json_object_get(network, "egress");

	if (!egress)
		error_set(err, ERR_CONFLICT,
			  "its network has no list of names, and is given none while it runs: "
			  "config.network.egress gives it one when it is made");
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

/* The rule itself; or any of its name, where no ports were given. */
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
	return error_set(err, ERR_NOT_FOUND, "\"%.280s\" is not on its list of names", rule);
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
	network_tell(live, "net.allowed", json_pack("{s:s}", "rule", name), text);
	return 0;
}

static int tell_denied(struct live *live, const json_t *rule, struct error *err)
{
	const char *name = json_string_value(rule);
	char text[400];

	(void)err;
	snprintf(text, sizeof(text), "network: %.320s is no longer allowed", name);
	network_tell(live, "net.denied", json_pack("{s:s}", "rule", name), text);
	return 0;
}

void live_egress_tell(struct live *live, const json_t *before, const json_t *after)
{
	(void)each_rule_more(live, after, before, tell_allowed, NULL);
	(void)each_rule_more(live, before, after, tell_denied, NULL);
}

const struct network_change change_allow = {"allow", edit_allow, apply_allow, undo_allow, false};
const struct network_change change_deny = {"deny", edit_deny, apply_deny, NULL, false};
