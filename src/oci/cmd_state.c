/* SPDX-License-Identifier: MIT */
/* The commands state and list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/kind.h"
#include "oci/create.h"
#include "oci/flags.h"
#include "oci/record.h"

json_t *container_state(const struct record *record)
{
	enum oci_status status = record_status(record);
	static const char *const copied[] = {"bundle", "rootfs", "created", "owner"};
	json_t *annotations = json_object_get(record->state, "annotations");
	const char *machine = record_text(record, "machine");
	json_auto_t *state =
		json_pack("{s:s, s:s, s:I, s:s}", "ociVersion", OCI_SPEC, "id", record->id, "pid",
			  status == OCI_STOPPED ? (json_int_t)0 : (json_int_t)record_pid(record),
			  "status", oci_status_names[status]);

	for (size_t i = 0; state && i < ARRAY_SIZE(copied); i++)
		if (record_text(record, copied[i]))
			json_object_set_new(state, copied[i],
					    json_string(record_text(record, copied[i])));
	/* Shortens the machine's name to the form that microagent-audit(1) accepts. */
	if (state && machine)
		json_object_set_new(state, "machine",
				    json_stringn(machine, kind_name_length(machine)));
	if (state && annotations)
		json_object_set(state, "annotations", annotations);
	return json_incref(state);
}

static int print_pretty(const json_t *document, struct error *err)
{
	autofree char *text = document ? json_pretty(document, err) : NULL;

	if (!text)
		return -1;
	puts(text);
	return 0;
}

int cmd_state(const struct oci *oci, char **words, struct error *err)
{
	autorecord struct record record = RECORD_NONE;

	if (flags_parse_command(oci, NULL, 0, words, err) < 0)
		return -1;
	if (record_open(oci, *words, &record, err) < 0)
		return -1;
	json_auto_t *state = container_state(&record);
	return print_pretty(state, err);
}

int cmd_list(const struct oci *oci, char **words, struct error *err)
{
	const char *format = "table";
	bool quiet = false;
	const struct flag flags[] = {{"format", "f", FLAG_TEXT, &format},
				     {"quiet", "q", FLAG_GIVEN, &quiet}};
	json_auto_t *states = json_array();
	const json_t *id;
	size_t i;

	if (flags_parse_command(oci, flags, ARRAY_SIZE(flags), words, err) < 0)
		return -1;
	bool json = strcmp(format, "json") == 0;
	if (!json && strcmp(format, "table") != 0)
		return error_set(err, ERR_INVALID, "--format must be table or json");
	json_auto_t *ids = record_list(oci, err);
	if (!ids)
		return -1;
	if (!json && !quiet)
		printf("%-20s %-8s %-8s %-40s %-25s %s\n", "ID", "PID", "STATUS", "BUNDLE",
		       "CREATED", "OWNER");
	json_array_foreach(ids, i, id)
	{
		autorecord struct record record = RECORD_NONE;

		/* Skips a container that another command has removed after record_list(). */
		if (record_open(oci, json_string_value(id), &record, NULL) < 0)
			continue;
		json_auto_t *state = container_state(&record);
		if (quiet)
			puts(record.id);
		else if (json)
			json_array_append(states, state);
		else
			printf("%-20s %-8lld %-8s %-40s %-25s %s\n", json_text(state, "id", ""),
			       (long long)json_integer_value(json_object_get(state, "pid")),
			       json_text(state, "status", ""), json_text(state, "bundle", ""),
			       json_text(state, "created", ""), json_text(state, "owner", ""));
	}
	return json && !quiet ? print_pretty(states, err) : 0;
}
