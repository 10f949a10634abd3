/* SPDX-License-Identifier: MIT */
/* Decodes config.network.egress: the names and prefixes that a guest on nat may reach. The lists
 * are sets, in which a repeated entry counts once. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/egress_rule.h"
#include "base/json.h"
#include "contract/decode.h"

#define PATH "config.network.egress"

#define RULE_TEXT (EGRESS_NAME_MAX + EGRESS_PORTS_MAX * sizeof(":65535"))

/* Prints a rule in its canonical form: the name, and the ports if they are not the default
 * ports. */
static void print_rule(const struct egress_rule *rule, char out[RULE_TEXT])
{
	struct egress_rule usual;
	struct error ignored;
	size_t used;

	used = (size_t)snprintf(out, RULE_TEXT, "%s", rule->name);
	if (egress_rule_parse(rule->name, &usual, &ignored) == 0 && egress_rule_same(rule, &usual))
		return;
	for (size_t i = 0; i < rule->nports; i++)
		used += (size_t)snprintf(out + used, RULE_TEXT - used, "%c%u", i ? ',' : ':',
					 (unsigned)rule->ports[i]);
}

static bool has_string(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (strcmp(json_string_value(item), text) == 0)
			return true;
	}
	return false;
}

static int check_rule_count(const json_t *list, const char *key, size_t most, struct error *err)
{
	size_t count = json_array_size(list);

	if (count <= most)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"config.network.egress.%s: %zu entries are given, but at most %zu are allowed: leave some out",
		key, count, most);
}

/* Decodes the list of names. The canonical list has each rule once, in its canonical form. */
static int decode_names(const json_t *egress, json_t *out, struct error *err)
{
	json_auto_t *list = json_array();
	json_t *given = NULL;

	if (!list)
		return error_errno(err, ENOMEM, "config.network.egress.names");
	if (json_get_array(egress, PATH, "names", JSON_OPTIONAL, &given, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(given); i++) {
		const json_t *item = json_array_get(given, i);
		const char *text = json_string_value(item);
		char canonical[RULE_TEXT];
		struct egress_rule rule;

		if (!text || strlen(text) != json_string_length(item))
			return error_set(err, ERR_INVALID,
					 "config.network.egress.names[%zu] must be a string", i);
		if (egress_rule_parse(text, &rule, err) < 0)
			return error_prefix(err, "config.network.egress.names[%zu]", i);
		print_rule(&rule, canonical);
		if (!has_string(list, canonical) &&
		    json_array_append_new(list, json_string(canonical)) < 0)
			return error_errno(err, ENOMEM, "config.network.egress.names");
	}
	if (check_rule_count(list, "names", EGRESS_NAMES_MAX, err) < 0)
		return -1;
	return json_array_size(list) ? json_put(out, "names", json_incref(list), err) : 0;
}

/* Decodes egress. If the field is present, even without any entry, the guest may reach only what
 * the field lists. */
int decode_egress(const struct config_decode *d, const json_t *network, enum network_mode mode,
		  json_t *out, struct error *err)
{
	static const char *const keys[] = {"names", "prefixes", "sni", "dryRun", NULL};
	static const char *const sni[] = {"required", "off"};
	json_auto_t *canonical = json_object();
	json_t *egress = NULL;
	bool dry_run = false;
	size_t judged = 0;

	if (!canonical)
		return error_errno(err, ENOMEM, PATH);
	if (json_get_object(network, "config.network", "egress", JSON_OPTIONAL, &egress, err) < 0)
		return -1;
	if (!egress)
		return 0;
	if (mode != NETWORK_NAT)
		return error_set(err, ERR_INVALID,
				 "config.network.egress needs mode \"nat\", and mode is \"%s\": %s",
				 network_mode_names[mode],
				 mode == NETWORK_BRIDGED ? "nothing is filtered on a bridge"
							 : "an isolated guest reaches nothing");
	if ((d->strict && json_only_keys(egress, PATH, keys, err) < 0) ||
	    decode_names(egress, canonical, err) < 0 ||
	    decode_prefixes(d, egress, PATH, "prefixes", config_check_egress_prefix, canonical,
			    err) < 0 ||
	    check_rule_count(json_object_get(canonical, "prefixes"), "prefixes",
			     EGRESS_PREFIXES_MAX, err) < 0 ||
	    decode_choice(egress, PATH, "sni", JSON_OPTIONAL, sni, ARRAY_SIZE(sni), &judged, err) <
		    0 ||
	    json_put_string(canonical, "sni", sni[judged], err) < 0 ||
	    json_get_bool(egress, PATH, "dryRun", JSON_OPTIONAL, &dry_run, err) < 0 ||
	    (dry_run && json_put(canonical, "dryRun", json_true(), err) < 0))
		return -1;
	return json_put(out, "egress", json_incref(canonical), err);
}
