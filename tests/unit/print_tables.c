/* SPDX-License-Identifier: MIT */
/* Prints as JSON what the tables of a config's fields and of a machine's options say, and what the
 * supervisor of Hyper-V, which does not run here, prints as its capabilities. `make lists` writes
 * schemas and manuals by it. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/options/machine.h"
#include "contract/config_fields.h"
#include "hyperv/machine/refused.h"
#include "supervisor/refusals.h"

static const char *const kinds[] = {
	[CONFIG_TEXT] = "text",	  [CONFIG_NUMBER] = "number", [CONFIG_FLAG] = "flag",
	[CONFIG_GIVEN] = "given", [CONFIG_CHOICE] = "choice", [CONFIG_JSON] = "json",
	[CONFIG_OWN] = "own",
};

static bool is_of_machine(const char *key)
{
	static const char *const keys[] = {
#define MACHINE_FIELD(machines, KIND, member, name, ...) name,
#include "contract/config_fields.def"
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static json_t *field_json(const struct config_field *field)
{
	json_t *words = json_array();

	for (size_t i = 0; i < field->nwords; i++)
		json_array_append_new(words, json_string(field->words[i]));
	return json_pack("{s:s, s:s, s:b, s:b, s:b, s:b, s:o, s:I, s:I, s:s*, s:s*, s:s*}", "key",
			 field->key, "kind", kinds[field->kind], "byItsKind", field->decode == NULL,
			 "everyBackend", field->every_backend, "hostFile", field->host_file,
			 "ofMachine", is_of_machine(field->key), "words", words, "most",
			 (json_int_t)field->most, "longest", (json_int_t)field->longest, "pattern",
			 field->pattern, "sample", field->sample, "description",
			 field->description);
}

int main(void)
{
	json_auto_t *fields = json_array(), *options = json_array();
	json_auto_t *document = NULL;
	bool built[COMMAND_COUNT];

	for (int i = 0; i < COMMAND_COUNT; i++)
		built[i] = hyperv_refuses_command((enum command)i) == NULL;

	for (const struct config_field *field = config_fields; field->key; field++)
		json_array_append_new(fields, field_json(field));
	for (const struct machine_option *row = machine_options; row->option.name; row++)
		json_array_append_new(options,
				      json_pack("{s:s, s:s*, s:s*}", "name", row->option.name,
						"value", row->option.value, "field", row->field));
	document =
		json_pack("{s:O, s:O, s:o}", "fields", fields, "options", options, HYPERV_BACKEND,
			  refusals_capabilities(HYPERV_BACKEND, hyperv_refusals, built, NULL));
	return document && json_dumpf(document, stdout, JSON_INDENT(1)) == 0 && puts("") >= 0 ? 0
											      : 1;
}
