/* SPDX-License-Identifier: MIT */
/*
 * Requests, accepted and refused. The cases are data in contract_requests.json, which the test of
 * schema/request.json walks as well, so that the schema and the decoder cannot part. Beyond them,
 * every value of a request that has all fields is replaced by every other type, taken away, and
 * joined by a foreign neighbour.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/config_fields.h"
#include "contract/request.h"

static const struct host_bounds bounds = {.memory_mib = 8192, .cpus = 4};
static json_t *data;

static int load_data(void **state)
{
	autofree char *path = strdup(__FILE__);
	char file[4096];
	json_error_t why;

	(void)state;
	*strrchr(path, '/') = '\0';
	snprintf(file, sizeof(file), "%s/contract_requests.json", path);
	data = json_load_file(file, JSON_REJECT_DUPLICATES, &why);
	if (!data)
		fprintf(stderr, "%s:%d: %s\n", file, why.line, why.text);
	return data ? 0 : -1;
}

static int drop_data(void **state)
{
	(void)state;
	json_decref(data);
	return 0;
}

static int decode_text(const void *text, size_t len, struct request *out, struct error *err)
{
	return request_decode(text, len, "qemu", false, &bounds, out, err);
}

static int decode(const json_t *document, struct request *out, struct error *err)
{
	autofree char *text = json_dumps(document, JSON_COMPACT);

	return decode_text(text, strlen(text), out, err);
}

/* Requires that the refusal has these words, and that out is unchanged. */
static void assert_refused(const json_t *document, const char *words, const char *name)
{
	struct request request, before;
	struct error err = {0};

	memset(&request, 0x5a, sizeof(request));
	memcpy(&before, &request, sizeof(request));
	if (decode(document, &request, &err) != -1)
		fail_msg("%s: accepted", name);
	if (!strstr(err.msg, words))
		fail_msg("%s: \"%s\" has not the words \"%s\"", name, err.msg, words);
	assert_int_equal(err.code, ERR_INVALID);
	assert_memory_equal(&request, &before, sizeof(request));
}

static void assert_accepted(const json_t *document, const char *name)
{
	struct request request = {0};
	struct error err = {0};

	if (decode(document, &request, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	request_free(&request);
	assert_null(request.document);
}

/* Returns the object that has the last key of a dotted path. */
static json_t *holder(json_t *document, const char *path, const char **key)
{
	const char *dot;

	while ((dot = strchr(path, '.'))) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
		document = json_object_get(document, name);
		assert_non_null(document);
		path = dot + 1;
	}
	*key = path;
	return document;
}

/* "@N" stands for N letters, wherever it is. */
static json_t *expanded(json_t *value)
{
	const char *text = json_string_value(value);
	json_t *part;
	const char *key;
	size_t i;

	if (text && *text == '@') {
		size_t len = strtoul(text + 1, NULL, 10);
		autofree char *letters = malloc(len + 1);

		memset(letters, 'a', len);
		letters[len] = '\0';
		json_string_set(value, letters);
	}
	json_object_foreach(value, key, part)
	{
		expanded(part);
	}
	json_array_foreach(value, i, part)
	{
		expanded(part);
	}
	return value;
}

static json_t *changed(const json_t *one)
{
	json_t *document = json_deep_copy(json_object_get(data, "full"));
	json_t *value;
	const char *path, *key;
	size_t i;

	json_object_foreach(json_object_get(one, "set"), path, value)
	{
		json_t *object = holder(document, path, &key);
		json_object_set_new(object, key, expanded(json_deep_copy(value)));
	}
	json_array_foreach(json_object_get(one, "remove"), i, value)
	{
		json_t *object = holder(document, json_string_value(value), &key);
		assert_int_equal(json_object_del(object, key), 0);
	}
	return document;
}

static void cases(void **state)
{
	const json_t *one;
	size_t i;

	(void)state;
	assert_true(json_array_size(json_object_get(data, "cases")) > 100);
	json_array_foreach(json_object_get(data, "cases"), i, one)
	{
		json_auto_t *document = changed(one);
		const char *name = json_string_value(json_object_get(one, "name"));
		const char *words = json_string_value(json_object_get(one, "error"));

		if (words)
			assert_refused(document, words, name);
		else
			assert_accepted(document, name);
	}
}

/* --- every value, changed -------------------------------------------------------------------- */

/* Calls fn for every member of every object and every element of every list, top down. The value
 * may be replaced in its parent through set() meanwhile. */
struct place {
	json_t *parent;
	const char *key; /* NULL in a list */
	size_t index;
	char path[200];
};
typedef void place_fn(json_t *document, const struct place *place, json_t *value);

static void set(const struct place *place, json_t *value)
{
	if (place->key)
		json_object_set_new(place->parent, place->key, value);
	else
		json_array_set_new(place->parent, place->index, value);
}

static void walk(json_t *document, json_t *parent, const char *path, place_fn *fn)
{
	size_t count = json_is_array(parent) ? json_array_size(parent) : json_object_size(parent);
	void *iter = json_object_iter(parent);

	for (size_t i = 0; i < count; i++) {
		struct place place = {.parent = parent, .index = i};
		json_t *value;

		if (json_is_array(parent)) {
			value = json_array_get(parent, i);
			snprintf(place.path, sizeof(place.path), "%s[%zu]", path, i);
		} else {
			value = json_object_iter_value(iter);
			place.key = json_object_iter_key(iter);
			iter = json_object_iter_next(parent, iter);
			snprintf(place.path, sizeof(place.path), "%s%s%s", path, *path ? "." : "",
				 place.key);
		}
		json_incref(value);
		fn(document, &place, value);
		walk(document, value, place.path, fn);
		json_decref(value);
	}
}

static void for_every_value(place_fn *fn)
{
	json_auto_t *document = json_deep_copy(json_object_get(data, "full"));

	walk(document, document, "", fn);
	assert_accepted(document, "unchanged at the end");
}

static void with_every_other_type(json_t *document, const struct place *place, json_t *value)
{
	json_t *const others[] = {json_null(),	  json_true(),	       json_integer(7),
				  json_real(7.5), json_string("text"), json_array(),
				  json_object()};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (json_typeof(others[i]) == json_typeof(value) ||
		    (json_is_boolean(others[i]) && json_is_boolean(value)) ||
		    (json_is_null(others[i]) && place->key && !strstr(place->path, ".env."))) {
			json_decref(others[i]);
			continue;
		}
		set(place, others[i]);
		assert_refused(document, place->path, place->path);
		set(place, json_incref(value));
	}
}

static void wrong_types(void **state)
{
	(void)state;
	for_every_value(with_every_other_type);
}

/* Returns the result of a document: its canonical form, or the reason why there is none. */
static char *outcome(const json_t *document)
{
	struct request request = {0};
	struct error err = {0};
	char *text;

	if (decode(document, &request, &err) < 0)
		return strdup(err.msg);
	text = json_dumps(request.config.normalised, JSON_COMPACT | JSON_ENCODE_ANY);
	request_free(&request);
	return text ? text : strdup("accepted");
}

/* Requires that the member with that value means the same as no member. */
static void assert_as_absent(json_t *document, const struct place *place, json_t *value,
			     json_t *written)
{
	autofree char *key = strdup(place->key), *as_written = NULL, *without = NULL;

	set(place, written);
	as_written = outcome(document);
	json_object_del(place->parent, key);
	without = outcome(document);
	json_object_set(place->parent, key, value);
	if (strcmp(as_written, without) != 0)
		fail_msg("%s: \"%s\" as it is written, \"%s\" without it", place->path, as_written,
			 without);
}

static void nulled(json_t *document, const struct place *place, json_t *value)
{
	if (place->key && !strstr(place->path, ".env."))
		assert_as_absent(document, place, value, json_null());
}

static void null_is_absent(void **state)
{
	(void)state;
	for_every_value(nulled);
}

/* Returns whether the document is valid without it. */
static bool is_optional(json_t *document, const struct place *place, json_t *value)
{
	autofree char *key = place->key ? strdup(place->key) : NULL;
	struct request request = {0};
	struct error ignored;
	bool is;

	if (!key)
		return false;
	json_object_del(place->parent, key);
	is = decode(document, &request, &ignored) == 0;
	if (is)
		request_free(&request);
	json_object_set(place->parent, key, value);
	return is;
}

static void emptied(json_t *document, const struct place *place, json_t *value)
{
	struct place now = *place;
	autofree char *key = place->key ? strdup(place->key) : NULL;

	if (!json_is_string(value) || strstr(place->path, ".env.") ||
	    (strstr(place->path, ".command[") && place->index > 0))
		return; /* arguments and values of variables may be empty */
	/* Without these a guest would have more than the writer of the request meant. */
	bool widens = strcmp(place->path, "config.network.mode") == 0 ||
		      strcmp(place->path, "config.cgroup") == 0;
	if (!widens && is_optional(document, place, value)) {
		now.key = key;
		assert_as_absent(document, &now, value, json_string(""));
		return;
	}
	now.key = key;
	set(&now, json_string(""));
	/* An empty choice is reported as one that does not exist, under the same path. */
	assert_refused(document, place->path, place->path);
	set(&now, json_incref(value));
}

static void empty_strings(void **state)
{
	(void)state;
	for_every_value(emptied);
}

static void with_control_byte(json_t *document, const struct place *place, json_t *value)
{
	if (!json_is_string(value) || strstr(place->path, ".env.") ||
	    strstr(place->path, ".command["))
		return;
	set(place, json_string("/a\x1b[2J"));
	assert_refused(document, place->path, place->path);
	set(place, json_incref(value));
}

static void control_bytes(void **state)
{
	(void)state;
	for_every_value(with_control_byte);
}

static void with_foreign_member(json_t *document, const struct place *place, json_t *value)
{
	char words[256];

	if (!json_is_object(value) || !strcmp(place->path, "config.env"))
		return;
	json_object_set_new(value, "bogus", json_true());
	snprintf(words, sizeof(words), "%s.bogus is not a known field", place->path);
	assert_refused(document, words, place->path);
	json_object_del(value, "bogus");
}

static void with_nul(json_t *document, const struct place *place, json_t *value)
{
	static const char text[] = "10.0.0.0/8";

	if (!json_is_string(value))
		return;
	set(place, json_stringn(text, sizeof(text))); /* with the NUL behind it */
	assert_refused(document, place->path, place->path);
	set(place, json_incref(value));
}

static void escaped_nul(void **state)
{
	(void)state;
	for_every_value(with_nul);
}

static void foreign_members(void **state)
{
	(void)state;
	for_every_value(with_foreign_member);
}

/* --- documents that are no request ----------------------------------------------------------- */

static void assert_text_refused(const void *text, size_t len, const char *words)
{
	struct request request = {0};
	struct error err = {0};

	assert_int_equal(decode_text(text, len, &request, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	if (!strstr(err.msg, words))
		fail_msg("\"%s\" has not the words \"%s\"", err.msg, words);
}

static void bad_documents(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{"", "the request is empty"},
		{" \n", "not valid JSON"},
		{"{", "not valid JSON"},
		{"{\"command\":\"host\"", "not valid JSON"},
		{"{\"command\":\"host\"}}", "not valid JSON"},
		{"{\"command\":\"host\"} {}", "not valid JSON"},
		{"{\"command\":\"host\",}", "not valid JSON"},
		{"{'command':'host'}", "not valid JSON"},
		{"{\"command\":\"host\",\"command\":\"kill\"}", "not valid JSON"},
		{"{\"command\":\"host\",\"identity\":{\"role\":\"a\",\"role\":\"b\"}}",
		 "not valid JSON"},
		{"{\"command\":\"ho\\u0000st\"}", "command must not hold a NUL"},
		{"{\"comm\\u0000and\":\"host\"}", "not valid JSON"},
		{"{\"command\":\"\xff\"}", "not valid JSON"},
		{"{\"command\":\"host\",\"config\":{\"memoryMiB\":18446744073709551616}}",
		 "not valid JSON"},
		{"null", "the request must be a JSON object"},
		{"[]", "the request must be a JSON object"},
		{"\"host\"", "the request must be a JSON object"},
		{"17", "the request must be a JSON object"},
		{"{}", "command is required"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_text_refused(rows[i].text, strlen(rows[i].text), rows[i].words);
}

static void truncated_anywhere(void **state)
{
	autofree char *text = json_dumps(json_object_get(data, "full"), JSON_COMPACT);

	(void)state;
	for (size_t len = 0; len < strlen(text); len++) {
		/* Makes a copy of the exact size, so that a sanitizer sees a read beyond the
		 * end. */
		autofree char *copy = malloc(len + !len);

		memcpy(copy, text, len);
		assert_text_refused(copy, len, "request is");
	}
}

static void raw_nul(void **state)
{
	static const char behind[] = "{\"command\":\"host\"}";
	static const char within[] = "{\"command\":\0\"host\"}";
	static const char after_literal[] = "{\"command\":\"host\",\"config\":null\0}";

	(void)state;
	assert_text_refused(behind, sizeof(behind), "NUL");
	assert_text_refused(within, sizeof(within) - 1, "NUL");
	assert_text_refused(after_literal, sizeof(after_literal) - 1, "NUL");
}

static void white_space_around(void **state)
{
	static const char text[] = "\n\t {\"command\" : \"host\"} \r\n";
	struct request request = {0};
	struct error err = {0};

	(void)state;
	assert_int_equal(decode_text(text, strlen(text), &request, &err), 0);
	assert_int_equal(request.command, COMMAND_HOST);
	assert_null(request.identity.request_id);
	assert_null(request.config.normalised);
	request_free(&request);
}

static void too_long(void **state)
{
	size_t sizes[] = {1048576 + 1, 100u << 20};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		autofree char *text = malloc(sizes[i]);

		memset(text, ' ', sizes[i]);
		memcpy(text, "{\"command\":\"host\"}", 18);
		assert_text_refused(text, sizes[i], "longer than 1048576 bytes");
	}
}

static void as_long_as_allowed(void **state)
{
	size_t len = 1048576;
	autofree char *text = malloc(len);
	struct request request = {0};
	struct error err = {0};

	(void)state;
	memset(text, ' ', len);
	memcpy(text, "{\"command\":\"host\"}", 18);
	assert_int_equal(decode_text(text, len, &request, &err), 0);
	request_free(&request);
}

static void too_deep(void **state)
{
	char text[2048] = "{\"command\":\"host\",\"config\":";
	size_t used = strlen(text);

	(void)state;
	memset(text + used, '[', 1000);
	assert_text_refused(text, used + 1000, "nested deeper");
}

/* A text for a million disks must neither overflow a path nor take for ever. */
static void many_entries(void **state)
{
	json_auto_t *document = json_deep_copy(json_object_get(data, "full"));
	json_t *listeners = json_array();

	(void)state;
	for (int i = 0; i < 20000; i++)
		json_array_append_new(listeners,
				      json_pack("{s:i,s:s}", "port", i + 2000000, "target", "h:1"));
	json_array_append_new(listeners, json_pack("{s:i,s:s}", "port", 2000000, "target", "h:1"));
	json_object_set_new(json_object_get(document, "config"), "vsockListeners", listeners);
	assert_refused(document, "config.vsockListeners[20000] has the same port \"2000000\"",
		       "many");
}

/* A record of an older version has fields that nobody knows any more, and this host has its own
 * bounds. */
static void a_recorded_config(void **state)
{
	static const char text[] =
		"{\"command\":\"start\",\"identity\":{\"requestID\":\"r\",\"runtimeID\":\"a\","
		"\"role\":\"workload\",\"backend\":\"qemu\"},\"config\":{\"stateDir\":\"/new\","
		"\"confinement\":\"seccomp\",\"memoryMiB\":77}}";
	struct request request = {0};
	struct config recorded = {0}, large = {0};
	struct error err = {0};

	(void)state;
	json_auto_t *old = json_pack("{s:s, s:s, s:s, s:i, s:i, s:b}", "kernelPath", "/k",
				     "rootfsPath", "/r", "stateDir", "/old", "memoryMiB", 300,
				     "cpuCount", 3, "ofAnOlderVersion", 1);
	json_auto_t *much = json_copy(old);
	json_object_set_new(much, "memoryMiB", json_integer(100000));
	assert_int_equal(config_from_record(old, &recorded, &err), 0);
	assert_int_equal(config_from_record(much, &large, &err), 0);
	assert_int_equal(request_decode(text, strlen(text), "qemu", true, &bounds, &request, &err),
			 0);
	assert_null(request.config.kernel_path);
	assert_int_equal(request_take_recorded(&request, &large, &bounds, &err), -1);
	assert_non_null(strstr(err.msg, "this host has room for"));
	assert_int_equal(request_take_recorded(&request, &recorded, &bounds, &err), 0);
	assert_string_equal(request.config.state_dir, "/new");
	assert_int_equal(request.config.confinement, CONFINEMENT_SECCOMP);
	assert_string_equal(request.config.kernel_path, "/k");
	assert_int_equal(request.config.memory_mib, 300);
	assert_int_equal(request.config.cpus, 3);
	config_free(&recorded);
	config_free(&large);
	request_free(&request);
}

/* A text that has a longest length may not be longer, whatever else its field checks. */
static void each_text_has_its_length(void **state)
{
	char text[8192], words[128];
	size_t tried = 0;

	(void)state;
	memset(text, 'a', sizeof(text));
	for (const struct config_field *field = config_fields; field->key; field++) {
		json_auto_t *document = json_deep_copy(json_object_get(data, "full"));
		json_t *config = json_object_get(document, "config");

		if (!field->longest)
			continue;
		assert_true(field->longest + 1 < sizeof(text));
		json_object_set_new(config, field->key, json_stringn(text, field->longest + 1));
		snprintf(words, sizeof(words),
			 "config.%s must be at most %zu bytes long, and has %zu", field->key,
			 field->longest, field->longest + 1);
		assert_refused(document, words, field->key);
		tried++;
	}
	assert_true(tried > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),
		cmocka_unit_test(each_text_has_its_length),
		cmocka_unit_test(wrong_types),
		cmocka_unit_test(empty_strings),
		cmocka_unit_test(control_bytes),
		cmocka_unit_test(null_is_absent),
		cmocka_unit_test(escaped_nul),
		cmocka_unit_test(foreign_members),
		cmocka_unit_test(bad_documents),
		cmocka_unit_test(truncated_anywhere),
		cmocka_unit_test(raw_nul),
		cmocka_unit_test(white_space_around),
		cmocka_unit_test(too_long),
		cmocka_unit_test(as_long_as_allowed),
		cmocka_unit_test(too_deep),
		cmocka_unit_test(many_entries),
		cmocka_unit_test(a_recorded_config),
	};

	return cmocka_run_group_tests(tests, load_data, drop_data);
}
