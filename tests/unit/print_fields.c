/* SPDX-License-Identifier: MIT */
/* Prints as JSON what the table of a config's fields says. `make lists` writes the members of struct
 * microagent_machine, schemas and manuals by it. So the program needs nothing of the library. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "contract/config_fields.h"

static const char *const kinds[] = {
	[CONFIG_TEXT] = "text",	  [CONFIG_NUMBER] = "number", [CONFIG_FLAG] = "flag",
	[CONFIG_GIVEN] = "given", [CONFIG_CHOICE] = "choice", [CONFIG_JSON] = "json",
	[CONFIG_OWN] = "own",
};

/* The fields that struct microagent_machine has too, with its member's name, and the names of the
 * kinds of machine that have the field, as "OF_SESSION | OF_BASE". */
static const struct {
	const char *key, *member, *machines;
} of_machine[] = {
#define MACHINE_FIELD(machines, KIND, member, name, ...) {name, #member, #machines},
#include "contract/config_fields.def"
};

static json_t *field_json(const struct config_field *field)
{
	json_t *words = json_array();
	const char *member = NULL, *machines = NULL;

	for (size_t i = 0; i < field->nwords; i++)
		json_array_append_new(words, json_string(field->words[i]));
	for (size_t i = 0; i < ARRAY_SIZE(of_machine); i++)
		if (strcmp(of_machine[i].key, field->key) == 0) {
			member = of_machine[i].member;
			machines = of_machine[i].machines;
		}
	return json_pack("{s:s, s:s, s:b, s:b, s:b, s:o, s:I, s:I, s:s*, s:s*, s:s*, s:s*, s:s*}",
			 "key", field->key, "kind", kinds[field->kind], "byItsKind",
			 field->decode == NULL, "everyBackend", field->every_backend, "hostFile",
			 field->host_file, "words", words, "most", (json_int_t)field->most,
			 "longest", (json_int_t)field->longest, "pattern", field->pattern, "sample",
			 field->sample, "description", field->description, "member", member,
			 "machines", machines);
}

int main(void)
{
	json_auto_t *fields = json_array();

	for (const struct config_field *field = config_fields; field->key; field++)
		if (json_array_append_new(fields, field_json(field)) < 0)
			return 1;
	return json_dumpf(fields, stdout, JSON_INDENT(1)) == 0 && puts("") >= 0 ? 0 : 1;
}
