/* SPDX-License-Identifier: MIT */
/* Reads schema/mcp.json, which is built into the program, and checks values against it. */
#ifndef MCP_SCHEMA_H
#define MCP_SCHEMA_H

#include <jansson.h>

#include "base/error.h"

/* Returns the definitions of schema/mcp.json as a new reference. */
json_t *schema_definitions(struct error *err);
/* Returns a copy of one definition, in which each "$ref" is replaced by the definition that it
 * names. The caller may change the copy. Returns NULL with ERR_INTERNAL on failure. */
json_t *schema_whole(const json_t *definitions, const char *name, struct error *err);

/*
 * Checks a value against a schema. The known keywords of JSON Schema are: type, properties,
 * required, additionalProperties, items, enum, minimum, maximum, minLength, maxLength (bytes),
 * minItems, maxItems, and the one pattern "^/". On a mismatch ERR_INVALID names the JSON path of
 * the wrong part.
 */
int schema_check(const json_t *schema, const json_t *value, const char *path, struct error *err);

#endif
