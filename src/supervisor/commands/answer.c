/* SPDX-License-Identifier: MIT */
#include "supervisor/commands/answer.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "store/term.h"

/* Returns a list with a copy of each entry of `declared`. Each copy also has the member "kind" and,
 * if `mode` is not NULL, the member "mode". */
static json_t *entries_of(const json_t *declared, const char *kind, const char *mode,
			  struct error *err)
{
	json_auto_t *list = json_array();
	const json_t *entry;
	size_t i;

	json_array_foreach(declared, i, entry)
	{
		json_auto_t *copy = json_deep_copy(entry);

		if (json_put_string(copy, "kind", kind, err) < 0)
			return NULL;
		if (mode && json_put_string(copy, "mode", mode, err) < 0)
			return NULL;
		if (json_array_append(list, copy) < 0)
			return NULL;
	}
	return steal_ptr(&list);
}

/* Returns the shares that a rule of store/share/rules.h refuses, but that the config explicitly
 * allows. Returns NULL if there are none. */
static json_t *shares_anyway(const struct config *config)
{
	json_auto_t *list = json_array();
	json_t *share;
	size_t i;

	json_array_foreach(config->shares, i, share)
	{
		if (json_object_get(share, "anyway"))
			json_array_append_new(list, json_deep_copy(share));
	}
	return json_array_size(list) ? steal_ptr(&list) : NULL;
}

int answer_declared(const struct config *config, struct response *response, struct error *err)
{
	const json_t *network = json_object_get(config->normalised, "network");
	json_auto_t *artifacts = json_object();

	response->shared_anyway = shares_anyway(config);
	if (config->mediation)
		response->mediation = json_deep_copy(config->mediation);
	if (network)
		response->network = json_deep_copy(network);
	if (json_array_size(config->bundles) == 0 && json_array_size(config->outputs) == 0)
		return 0;
	if (json_array_size(config->bundles) > 0 &&
	    json_put(artifacts, "ingress", entries_of(config->bundles, "bundle", "ro", err), err) <
		    0)
		return -1;
	if (json_array_size(config->outputs) > 0 &&
	    json_put(artifacts, "egress", entries_of(config->outputs, "output", NULL, err), err) <
		    0)
		return -1;
	response->artifacts = steal_ptr(&artifacts);
	return 0;
}

/* Adds facts about the machine that runs, or ran last: its confinement if it is in no cell, and the
 * limits that its request asked for but that could not be set. Adds the mode of its console, unless
 * the machine has ended or was cut off. */
static void answer_machine(const struct record *record, struct response *response)
{
	struct error ignored;
	json_auto_t *runtime = workspace_read(&record->ws, "runtime.json", &ignored);
	json_t *confinement = json_object_get(runtime, "confinement");
	const char *name = json_string_value(confinement);

	if (name && strcmp(name, confinement_names[CONFINEMENT_CELL]) != 0)
		response->confinement = json_incref(confinement);
	response->cgroup_unlimited = json_incref(json_object_get(runtime, "cgroupUnlimited"));
	if (state_is_live(record->state))
		response->console_mode = json_incref(json_object_get(runtime, "consoleMode"));
}

/* Adds the times at which the session ends without a command, from the session's record. */
static int answer_term(const struct record *record, struct response *response, struct error *err)
{
	json_auto_t *told = json_object();
	struct term term = {0};

	if (term_read(&record->ws, &term, err) < 0)
		return -1;
	if (!term_is_given(&term))
		return 0;
	/* The member `idled` is not printed here, since the event of the end already reports it. */
	term.idled = false;
	if (term_put(&term, told, err) < 0)
		return -1;
	response->term = steal_ptr(&told);
	return 0;
}

int answer_live(const struct record *record, const struct config *config, struct response *response,
		struct error *err)
{
	struct error why = {0};
	json_t *result = NULL;

	response->readiness = readiness_json(record, config, err);
	response->architecture = json_string(architecture_name(config->architecture));
	if (!response->readiness)
		return -1;
	if (record->ws.fd < 0)
		return 0;
	result = workspace_read(&record->ws, "result.json", &why);
	if (!result && why.code != ERR_NOT_FOUND) {
		*err = why;
		return -1;
	}
	if (result)
		json_object_del(result, "format");
	response->result = result;
	answer_machine(record, response);
	return answer_term(record, response, err);
}
