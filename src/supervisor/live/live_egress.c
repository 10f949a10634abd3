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

const struct network_change change_allow = {"allow", apply_allow, undo_allow, false};
const struct network_change change_deny = {"deny", apply_deny, NULL, false};
