/* SPDX-License-Identifier: MIT */
#include "contract/contract.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/fields.h"
#include "contract/state.h"

/* The commands of the lifecycle, in the order in which the contract lists them. host, check and
 * console are not in this list: they are commands of the protocol, and are in the list of each
 * backend. */
static const enum command lifecycle[] = {
	COMMAND_PREPARE,    COMMAND_START, COMMAND_RUN,	 COMMAND_INSPECT, COMMAND_HALT,
	COMMAND_QUARANTINE, COMMAND_STOP,  COMMAND_KILL, COMMAND_DELETE,
};

/* The states that can last. Two states are not in this list: unknown, which means that there is no
 * record, and stopping, which soon becomes another state. */
static const enum state lasting[] = {
	STATE_PREPARED,	   STATE_STARTING, STATE_RUNNING, STATE_HALTED,
	STATE_QUARANTINED, STATE_STOPPED,  STATE_FAILED,
};

static int put_described(json_t *list, const char *name, const char *text, struct error *err)
{
	json_auto_t *item = json_object();

	if (json_put_string(item, "name", name, err) < 0 ||
	    json_put_string(item, "description", text, err) < 0)
		return -1;
	return json_array_append(list, item) < 0 ? error_errno(err, ENOMEM, "contract") : 0;
}

static json_t *fields_json(const struct field_row *rows, struct error *err)
{
	json_auto_t *list = json_array();

	for (; rows->name; rows++)
		if (put_described(list, rows->name, rows->meaning, err) < 0)
			return NULL;
	return steal_ptr(&list);
}

static json_t *commands_json(struct error *err)
{
	json_auto_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(lifecycle); i++) {
		const struct command_row *row = &command_table[lifecycle[i]];

		if (put_described(list, row->name, row->purpose, err) < 0)
			return NULL;
	}
	return steal_ptr(&list);
}

/* Returns the states as JSON. The disk and the history are kept in every state. Only the command
 * delete removes them, together with the state. */
static json_t *states_json(struct error *err)
{
	json_auto_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(lasting); i++) {
		const struct state_facts *facts = &state_facts[lasting[i]];
		json_auto_t *item = json_object();

		if (json_put_string(item, "name", state_names[lasting[i]], err) < 0 ||
		    json_put_string(item, "description", facts->meaning, err) < 0 ||
		    json_put(item, "diskPreserved", json_true(), err) < 0 ||
		    json_put(item, "eventHistoryKept", json_true(), err) < 0 ||
		    (facts->runtime_may_continue &&
		     json_put(item, "runtimeMayContinue", json_true(), err) < 0))
			return NULL;
		if (json_array_append(list, item) < 0) {
			error_errno(err, ENOMEM, "contract");
			return NULL;
		}
	}
	return steal_ptr(&list);
}

static json_t *contract_names(const char *const *names, struct error *err)
{
	json_auto_t *list = json_array();

	for (; *names; names++)
		if (json_array_append_new(list, json_string(*names)) < 0) {
			error_errno(err, ENOMEM, "contract");
			return NULL;
		}
	return steal_ptr(&list);
}

static json_t *backends_json(struct error *err)
{
	json_auto_t *list = json_array();

	for (const struct contract_backend *row = contract_backends; row->name; row++)
		if (json_array_append_new(list, json_string(row->name)) < 0) {
			error_errno(err, ENOMEM, "contract");
			return NULL;
		}
	return steal_ptr(&list);
}

/* Returns the rows of a table as one object, {name: meaning, ...}. */
static json_t *descriptions_json(const struct field_row *rows, struct error *err)
{
	json_auto_t *descriptions = json_object();

	for (; rows->name; rows++)
		if (json_put_string(descriptions, rows->name, rows->meaning, err) < 0)
			return NULL;
	return steal_ptr(&descriptions);
}

/* Returns the facts about mediation: a word for each fact that programs use, and a text for
 * people. */
static json_t *mediation_json(struct error *err)
{
	static const struct field_row modes[] = {
		{"requiredMode", "required is refused without failClosed: true"},
		{"breakMode",
		 "While the target cannot be reached, connections are closed and mediation is not ready"},
		{NULL, NULL},
	};
	json_auto_t *mediation = json_object();

	if (json_put_string(
		    mediation, "primitive",
		    "A vsock connection from the guest to the host, on which the guest asks a service that decides for it",
		    err) < 0 ||
	    json_put(mediation, "fields", contract_names(mediation_keys, err), err) < 0 ||
	    json_put_string(mediation, "requiredMode", "failClosed", err) < 0 ||
	    json_put_string(mediation, "breakMode", "closed", err) < 0 ||
	    json_put(mediation, "descriptions", descriptions_json(modes, err), err) < 0)
		return NULL;
	return steal_ptr(&mediation);
}

static const char *const compared_words[] = {
	[COMPARED_NEVER] = "never",
	[COMPARED_UNTIL_STARTED] = "untilStarted",
	[COMPARED_ALWAYS] = "always",
};

static json_t *verification_json(struct error *err)
{
	json_auto_t *verification = json_object();
	json_auto_t *fields = json_array();

	for (const struct verification_row *row = verification_fields; row->name; row++) {
		json_t *item;

		if (put_described(fields, row->name, row->meaning, err) < 0)
			return NULL;
		item = json_array_get(fields, json_array_size(fields) - 1);
		if (json_put_string(item, "compared", compared_words[row->compared], err) < 0)
			return NULL;
	}
	if (json_put_string(verification, "name", "verification", err) < 0 ||
	    json_put_string(
		    verification, "description",
		    "The image's digest, the hashes of kernel, init and rootfs beside the recorded ones, and an entry for each divergence",
		    err) < 0 ||
	    json_put(verification, "fields", json_incref(fields), err) < 0)
		return NULL;
	return steal_ptr(&verification);
}

static json_t *parity_json(struct error *err)
{
	json_auto_t *parity = json_object();
	json_auto_t *rules = json_array();

	for (const struct field_row *row = parity_rules; row->name; row++)
		if (json_array_append_new(rules, json_string(row->name)) < 0) {
			error_errno(err, ENOMEM, "contract");
			return NULL;
		}
	if (json_put_string(
		    parity, "scope",
		    "Commands, states, readiness, results, artifacts and mediation mean the same on every backend; backendSupport says which of them one has",
		    err) < 0 ||
	    json_put(parity, "rules", json_incref(rules), err) < 0 ||
	    json_put(parity, "descriptions", descriptions_json(parity_rules, err), err) < 0)
		return NULL;
	return steal_ptr(&parity);
}

static json_t *limits_json(struct error *err)
{
	json_auto_t *list = json_array();

	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		const struct limit_row *row = &limit_table[i];
		uint64_t value = limit_get((enum limit)i);
		json_auto_t *item = json_object();

		if (json_put_string(item, "name", row->name, err) < 0 ||
		    json_put(item, "value", json_integer((json_int_t)value), err) < 0 ||
		    json_put_string(item, "unit", row->unit, err) < 0 ||
		    json_put_string(item, "description", row->text, err) < 0)
			return NULL;
		if (json_array_append(list, item) < 0) {
			error_errno(err, ENOMEM, "contract");
			return NULL;
		}
	}
	return steal_ptr(&list);
}

json_t *contract_json(json_t *support, struct error *err)
{
	json_auto_t *backend_support = support;
	json_auto_t *contract = json_object();

	if (json_put_string(contract, "version", CONTRACT_VERSION, err) < 0 ||
	    json_put(contract, "backends", backends_json(err), err) < 0 ||
	    json_put(contract, "commands", commands_json(err), err) < 0 ||
	    json_put(contract, "states", states_json(err), err) < 0 ||
	    json_put(contract, "readinessSignals", fields_json(readiness_fields, err), err) < 0 ||
	    json_put(contract, "resultFields", fields_json(result_fields, err), err) < 0 ||
	    json_put(contract, "artifactChannels", fields_json(artifact_fields, err), err) < 0 ||
	    json_put(contract, "mediation", mediation_json(err), err) < 0 ||
	    json_put(contract, "verification", verification_json(err), err) < 0 ||
	    json_put(contract, "parity", parity_json(err), err) < 0 ||
	    json_put(contract, "backendSupport", json_incref(backend_support), err) < 0 ||
	    json_put(contract, "limits", limits_json(err), err) < 0)
		return NULL;
	return steal_ptr(&contract);
}
