/* SPDX-License-Identifier: MIT */
/* Reads schema/mcp.json, which is built into the program, and checks values against its schemas. */
#ifndef MCP_SCHEMA_H
#define MCP_SCHEMA_H

#include <jansson.h>

#include "base/error.h"

/* Returns the definitions of schema/mcp.json as a new reference. */
json_t *schema_definitions(struct error *err);
/* Returns a copy of the definition `name`, in which each "$ref" is replaced by the definition that
 * this "$ref" names. The caller may change the copy. On failure returns NULL with ERR_INTERNAL. */
json_t *schema_whole(const json_t *definitions, const char *name, struct error *err);

/*
 * Checks a value against a schema. These keywords of JSON Schema are known: type, properties,
 * required, additionalProperties, items, enum, minimum, maximum, minLength, maxLength (in bytes),
 * minItems, maxItems, and the one pattern "^/". If the value does not match, fails with
 * ERR_INVALID, and the error names the JSON path of the wrong part.
 */
int schema_check(const json_t *schema, const json_t *value, const char *path, struct error *err);

#endif
