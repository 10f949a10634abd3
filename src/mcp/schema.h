/* SPDX-License-Identifier: MIT */
/* schema/mcp.json, which is carried in the program, and what it says of values. */
#ifndef MCP_SCHEMA_H
#define MCP_SCHEMA_H

#include <jansson.h>

#include "base/error.h"

/* The definitions of that file; a new reference. */
json_t *schema_definitions(struct error *err);
/* One of them with what it refers to in it, and nothing that it refers to left: a new value, which
 * may be written. NULL: ERR_INTERNAL. */
json_t *schema_whole(const json_t *definitions, const char *name, struct error *err);

/*
 * Whether a value is what the schema says. Of JSON Schema are known: type, properties, required,
 * additionalProperties, items, enum, minimum, maximum, minLength, maxLength (bytes), minItems,
 * maxItems, and as a pattern "^/" alone. ERR_INVALID says by its JSON path what is not.
 */
int schema_check(const json_t *schema, const json_t *value, const char *path, struct error *err);

#endif
