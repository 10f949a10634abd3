/* SPDX-License-Identifier: MIT */
/* Tests that every field of the published schema of the OCI runtime specification has a row in the
 * table. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "oci/config/fields.h"

static char schema_dir[512];

static json_t *schema_file(const char *name)
{
	autobuf struct buf text = BUF_INIT(1048576);
	struct error err = {0};
	autoclose int dir = open(schema_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	json_t *value = NULL;

	if (dir >= 0 && path_read_file_at(dir, name, &text, &err) == 0)
		value = oci_load(buf_bytes(&text), text.len, &err);
	return value;
}

/* "defs.json#/definitions/Mount", or "#/..." of the file itself. The file's name goes to file. */
static json_t *referred(const char *ref, char file[64])
{
	const char *hash = strchr(ref, '#');
	char path[128], *save = NULL;

	if (hash != ref)
		snprintf(file, 64, "%.*s", (int)(hash - ref), ref);
	json_auto_t *document = schema_file(file);
	json_t *at = document;

	snprintf(path, sizeof(path), "%s", hash + 1);
	for (char *key = strtok_r(path, "/", &save); key; key = strtok_r(NULL, "/", &save))
		at = json_object_get(at, key);
	return json_incref(at);
}

static size_t missing, leaves;

static void see_leaf(const char *path)
{
	leaves++;
	if (oci_field_find(path))
		return;
	print_message("no row for %s\n", path);
	missing++;
}

static void see(const json_t *schema, const char *in_file, const char *path)
{
	const char *ref = json_text(schema, "$ref", NULL), *key;
	const json_t *properties = json_object_get(schema, "properties"), *part;
	json_t *property;
	char file[64], below[512];
	size_t i;

	snprintf(file, sizeof(file), "%s", in_file);
	if (ref) {
		json_auto_t *target = referred(ref, file);

		if (target)
			see(target, file, path);
		else
			see_leaf(path); /* another system's, in a file that is not there */
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)properties, key, property)
	{
		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", key);
		see(property, file, below);
	}
	json_array_foreach(json_object_get(schema, "anyOf"), i, part) see(part, file, path);
	json_array_foreach(json_object_get(schema, "allOf"), i, part) see(part, file, path);
	if (json_object_get(schema, "items")) {
		snprintf(below, sizeof(below), "%s[]", path);
		see(json_object_get(schema, "items"), file, below);
	} else if (!properties && !json_object_get(schema, "anyOf") &&
		   !json_object_get(schema, "allOf")) {
		see_leaf(path);
	}
}

/* Returns the fields of the published schema of version 1.2, a path on each line. */
static void every_field_that_is_listed(void **state)
{
	const char *cut = strrchr(__FILE__, '/');
	char path[512], line[256];
	autofile FILE *list = NULL;

	(void)state;
	snprintf(path, sizeof(path), "%.*s/oci_fields.txt", (int)(cut - __FILE__), __FILE__);
	list = fopen(path, "re");
	assert_non_null(list);
	missing = leaves = 0;
	while (fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		see_leaf(line);
	}
	assert_int_equal(missing, 0);
	assert_true(leaves > 150);
}

/* The schema of another version, in a directory that the variable names. */
static void every_field_of_the_schema(void **state)
{
	const char *named = getenv("MICROAGENT_OCI_SCHEMA");

	(void)state;
	if (!named) {
		print_message("skipped: MICROAGENT_OCI_SCHEMA names no schema of the OCI runtime "
			      "specification\n");
		skip();
	}
	snprintf(schema_dir, sizeof(schema_dir), "%s", named);
	json_auto_t *schema = schema_file("config-schema.json");

	assert_non_null(schema);
	missing = leaves = 0;
	see(schema, "config-schema.json", "");
	assert_int_equal(missing, 0);
	assert_true(leaves > 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_that_is_listed),
		cmocka_unit_test(every_field_of_the_schema),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
