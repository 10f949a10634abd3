/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "mcp/schema.h"

#define PATH_ROOM 200
#define MOST_WHOLE 9007199254740992.0 /* a double can store every whole number up to this one */

/* Returns true if the value is a whole number. By the rules of JSON Schema the real number 2.0 is a
 * whole number too. */
static bool is_whole_number(const json_t *value)
{
	double number = json_real_value(value);

	return json_is_integer(value) ||
	       (json_is_real(value) && number >= -MOST_WHOLE && number <= MOST_WHOLE &&
		number == (double)(int64_t)number);
}

static bool is_of_type(const json_t *value, const char *type)
{
	static const struct {
		const char *name;
		json_type type;
	} types[] = {{"object", JSON_OBJECT}, {"array", JSON_ARRAY}, {"string", JSON_STRING}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, type) == 0)
			return json_typeof(value) == types[i].type;
	if (strcmp(type, "integer") == 0)
		return is_whole_number(value);
	return strcmp(type, "boolean") == 0 && json_is_boolean(value);
}

static int check_size(const json_t *schema, const char *least, const char *most, int64_t size,
		      const char *path, const char *of, struct error *err)
{
	const json_t *min = json_object_get(schema, least), *max = json_object_get(schema, most);

	if (min && size < json_integer_value(min))
		return error_set(err, ERR_INVALID, "%s must be at least %" PRId64 "%s", path,
				 (int64_t)json_integer_value(min), of);
	if (max && size > json_integer_value(max))
		return error_set(err, ERR_INVALID, "%s must be at most %" PRId64 "%s", path,
				 (int64_t)json_integer_value(max), of);
	return 0;
}

static int check_enum(const json_t *list, const json_t *value, const char *path, struct error *err)
{
	char allowed[256] = "";
	const json_t *each;
	size_t i;

	json_array_foreach(list, i, each)
	{
		size_t used = strlen(allowed);

		if (json_equal(each, value))
			return 0;
		snprintf(allowed + used, sizeof(allowed) - used, "%s%s", i ? ", " : "",
			 json_string_value(each));
	}
	return error_set(err, ERR_INVALID, "%s must be one of: %s", path, allowed);
}

static int check_members(const json_t *schema, const json_t *value, const char *path,
			 struct error *err)
{
	const json_t *known = json_object_get(schema, "properties"),
		     *others = json_object_get(schema, "additionalProperties"),
		     *required = json_object_get(schema, "required"), *name;
	char below[PATH_ROOM];
	const char *key;
	json_t *part;
	size_t i;

	json_array_foreach(required, i, name)
	{
		if (!json_object_get(value, json_string_value(name)))
			return error_set(err, ERR_INVALID, "%s%s%s is required", path,
					 *path ? "." : "", json_string_value(name));
	}
	json_object_foreach((json_t *)(uintptr_t)value, key, part)
	{
		const json_t *of = json_object_get(known, key);

		snprintf(below, sizeof(below), "%s%s%.60s", path, *path ? "." : "", key);
		if (!of && !json_is_object(others))
			return error_set(
				err, ERR_INVALID,
				"%s is not a known argument of this tool: leave it out, or correct its name",
				below);
		if (schema_check(of ? of : others, part, below, err) < 0)
			return -1;
	}
	return 0;
}

static int check_items(const json_t *schema, const json_t *value, const char *path,
		       struct error *err)
{
	const json_t *items = json_object_get(schema, "items"), *item;
	char below[PATH_ROOM];
	size_t i;

	json_array_foreach(value, i, item)
	{
		snprintf(below, sizeof(below), "%.150s[%zu]", path, i);
		if (schema_check(items, item, below, err) < 0)
			return -1;
	}
	return check_size(schema, "minItems", "maxItems", (int64_t)json_array_size(value), path,
			  " items long", err);
}

static int check_text(const json_t *schema, const json_t *value, const char *path,
		      struct error *err)
{
	const json_t *pattern = json_object_get(schema, "pattern");

	if (strlen(json_string_value(value)) != json_string_length(value))
		return error_set(
			err, ERR_INVALID,
			"%s has a NUL (\\u0000), which a text cannot have here: give such contents as base64",
			path);
	if (pattern && *json_string_value(value) != '/')
		return error_set(err, ERR_INVALID, "%s must be an absolute path", path);
	return check_size(schema, "minLength", "maxLength", (int64_t)json_string_length(value),
			  path, " bytes long", err);
}

int schema_check(const json_t *schema, const json_t *value, const char *path, struct error *err)
{
	const json_t *list = json_object_get(schema, "enum");
	const char *type = json_text(schema, "type", NULL);

	if (list)
		return check_enum(list, value, path, err);
	if (type && !is_of_type(value, type))
		return error_set(err, ERR_INVALID, "%s must be of type %s%s",
				 *path ? path : "arguments", type,
				 json_is_string(value) && strcmp(type, "array") == 0
					 ? ": a line for the shell is [\"sh\", \"-c\", LINE]"
					 : "");
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return check_members(schema, value, path, err);
	case JSON_ARRAY:
		return check_items(schema, value, path, err);
	case JSON_STRING:
		return check_text(schema, value, path, err);
	case JSON_INTEGER:
	case JSON_REAL:
		if (!is_whole_number(value))
			return 0;
		return check_size(schema, "minimum", "maximum",
				  json_is_integer(value) ? json_integer_value(value)
							 : (int64_t)json_real_value(value),
				  path, "", err);
	default:
		return 0;
	}
}
