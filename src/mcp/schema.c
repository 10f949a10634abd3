/* SPDX-License-Identifier: MIT */
#include "mcp/schema.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define OWN "#/$defs/"
#define OTHER "defs.json#/$defs/"
#define DEPTH 16

/* Two files of the directory schema/ as text. The Makefile makes these arrays. */
extern const char schema_mcp[], schema_defs[];

static json_t *definitions_of(const char *text, struct error *err)
{
	json_auto_t *file = json_load_strict(text, strlen(text), err);

	return json_incref(json_object_get(file, "$defs"));
}

json_t *schema_definitions(struct error *err)
{
	return definitions_of(schema_mcp, err);
}

/* The definitions to which a schema may refer: those of the file in which the schema is (`own`),
 * and those of defs.json (`other`). */
struct definitions {
	const json_t *own, *other;
};

/* Returns the definition to which a reference points; NULL if the definition does not exist. If the
 * definition is in defs.json, sets in->own to the definitions of that file. */
static const json_t *meant_by(struct definitions *in, const char *ref)
{
	if (strncmp(ref, OWN, strlen(OWN)) == 0)
		return json_object_get(in->own, ref + strlen(OWN));
	if (strncmp(ref, OTHER, strlen(OTHER)) != 0)
		return NULL;
	in->own = in->other;
	return json_object_get(in->own, ref + strlen(OTHER));
}

/* Returns a copy of the schema in which every reference is replaced by its definition. Returns NULL
 * if a reference is unknown or the nesting is too deep. */
static json_t *with_all(struct definitions in, const json_t *schema, int depth)
{
	const char *ref = json_string_value(json_object_get(schema, "$ref")), *key;
	json_auto_t *members = NULL;
	const json_t *meant;
	json_t *out, *description, *part;

	if (depth > DEPTH)
		return NULL;
	if (!json_is_object(schema))
		return json_deep_copy(schema);
	if (!ref) {
		members = json_object();
		json_object_foreach((json_t *)(uintptr_t)schema, key, part)
		{
			if (json_object_set_new(members, key, with_all(in, part, depth + 1)) < 0)
				return NULL;
		}
		return steal_ptr(&members);
	}
	meant = meant_by(&in, ref);
	out = meant ? with_all(in, meant, depth + 1) : NULL;
	description = json_object_get(schema, "description");
	if (out && description)
		json_object_set(out, "description", description);
	return out;
}

json_t *schema_whole(const json_t *definitions, const char *name, struct error *err)
{
	json_auto_t *other = definitions_of(schema_defs, err);
	const struct definitions in = {definitions, other};
	const json_t *schema = json_object_get(definitions, name);
	json_t *whole = other && schema ? with_all(in, schema, 0) : NULL;

	if (!whole)
		error_set(
			err, ERR_INTERNAL,
			"the schema \"%s\" of a tool cannot be made: this is a bug of microagent, or memory is short",
			name);
	return whole;
}
