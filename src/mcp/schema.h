/* SPDX-License-Identifier: MIT */
/* Reads schema/mcp.json, which is built into the program, and checks values against it. */
#ifndef MCP_SCHEMA_H
#define MCP_SCHEMA_H

#include <jansson.h>

#include "base/error.h"

/* Returns the definitions of that file as a new reference. */
json_t *schema_definitions(struct error *err);
/* Returns one definition with every definition that it refers to put in place of the reference. It
 * is a new value, which may be changed. NULL with ERR_INTERNAL on failure. */
json_t *schema_whole(const json_t *definitions, const char *name, struct error *err);

/*
 * Checks a value against a schema. The known keywords of JSON Schema are: type, properties,
 * required, additionalProperties, items, enum, minimum, maximum, minLength, maxLength (bytes),
 * minItems, maxItems, and the one pattern "^/". On a mismatch ERR_INVALID names the JSON path of
 * the wrong part.
 */
int schema_check(const json_t *schema, const json_t *value, const char *path, struct error *err);

#endif
