/* SPDX-License-Identifier: MIT */
/*
 * Decodes a request as a whole. The first error is reported, in this order: the document itself,
 * its own fields, the command, the identity, the config. The order within each of these parts is
 * described in the file of the part.
 */
#include "contract/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "contract/config_fields.h"
#include "contract/decode.h"
#include "contract/kind.h"

static int decode_command_name(const json_t *document, enum command *out, struct error *err)
{
	char list[160] = "";
	const char *name = NULL;
	size_t used = 0;

	/* The path is empty because the command is a field of the document itself. */
	if (json_get_string(document, "", "command", JSON_REQUIRED, &name, err) < 0)
		return -1;
	*out = command_from_name(name);
	if (*out != COMMAND_COUNT)
		return 0;
	for (size_t i = 0; i < COMMAND_COUNT && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 command_table[i].name);
	return error_set(err, ERR_INVALID, "command must be one of %s, and is \"%.64s\"", list,
			 name);
}

/* Decodes a config for a command that uses only stateDir. The config may have more fields. Their
 * names are checked, but not their values, because a kill must not fail at a value that the kill
 * does not need. If `recorded` is true, the fields that each request sets are read too. */
static int decode_without_machine(const json_t *json, bool recorded, struct config *out,
				  struct error *err)
{
	json_auto_t *normalised = json_object();
	struct config_decode d = {.in = json, .out = normalised, .strict = true};

	if (!normalised)
		return error_errno(err, ENOMEM, "config");
	if (config_known_keys(json, err) < 0)
		return -1;
	if (!recorded) {
		if (decode_state_dir(&d, err) < 0)
			return -1;
	} else {
		for (const struct config_field *field = config_fields; field->key; field++)
			if (field->said_anew && config_field_decode(field, &d, err) < 0)
				return -1;
	}
	*out = (struct config){
		.state_dir = json_text(normalised, "stateDir", NULL),
		.normalised = steal_ptr(&normalised),
	};
	return 0;
}

/* Makes a path absolute, because a recorded path must lead to its file from every working
 * directory. */
static int make_absolute(json_t *object, const char *key, struct error *err)
{
	const char *given = json_text(object, key, "");
	autofree char *absolute = NULL;

	if (!*given || path_is_absolute(given))
		return 0;
	absolute = path_absolute(given, err);
	if (!absolute)
		return error_prefix(err, "config: %s %s", key, given);
	return json_put_string(object, key, absolute, err);
}

/* Makes the paths of host files in a canonical config absolute. stateDir and the paths of shares
 * are absolute already. The path of a bundle stays as it was given, because answers repeat this
 * path. The file itself is not needed after the bundle was built into a disk of the workspace. */
static int make_host_paths_absolute(json_t *config, struct error *err)
{
	static const char *const macos_keys[] = {"hardwareModelPath", "auxiliaryStoragePath",
						 "machineIdentifierPath"};
	json_t *disk;
	size_t i;

	for (const struct config_field *field = config_fields; field->key; field++)
		if (field->host_file && make_absolute(config, field->key, err) < 0)
			return -1;
	for (i = 0; i < ARRAY_SIZE(macos_keys); i++)
		if (make_absolute(json_object_get(config, "macos"), macos_keys[i], err) < 0)
			return -1;
	json_array_foreach(json_object_get(config, "disks"), i, disk)
	{
		if (make_absolute(disk, "path", err) < 0)
			return -1;
	}
	return 0;
}

static int decode_config(const json_t *json, enum command_input input, bool recorded,
			 const struct host_bounds *bounds, struct config *out, struct error *err)
{
	json_auto_t *normalised = NULL;

	if (input == INPUT_STATE_DIR || recorded)
		return decode_without_machine(json, recorded, out, err);
	if (config_normalise(json, true, bounds, &normalised, err) < 0 ||
	    make_host_paths_absolute(normalised, err) < 0)
		return -1;
	config_bind(steal_ptr(&normalised), out);
	return 0;
}

/* Refuses a console shell for a session. Input on the console is not in the audit log, and sessions
 * exist for their audit log. */
static int refuse_console_of_session(const struct request *request, struct error *err)
{
	if (!request->config.console_shell || !kind_is_session(request->identity.runtime_id))
		return 0;
	return error_set(
		err, ERR_INVALID,
		"config.console: a session cannot have a shell on its console, because no audit log would record what is done there: leave it out");
}

/* Fills all members of `out` except document. */
static int decode_document(json_t *document, const char *backend, bool recorded,
			   const struct host_bounds *bounds, struct request *out, struct error *err)
{
	static const char *const keys[] = {"command", "identity", "config", NULL};
	json_t *identity = NULL, *config = NULL;
	enum command_input input;
	enum json_need need;

	if (!json_is_object(document))
		return error_set(err, ERR_INVALID, "the request must be a JSON object");
	if (json_only_keys(document, "", keys, err) < 0 ||
	    decode_command_name(document, &out->command, err) < 0)
		return -1;
	input = command_table[out->command].input;
	need = input == INPUT_NONE ? JSON_OPTIONAL : JSON_REQUIRED;
	if (json_get_object(document, "", "identity", need, &identity, err) < 0)
		return -1;
	if (input != INPUT_NONE && identity_decode(identity, backend, &out->identity, err) < 0)
		return -1;
	if (json_get_object(document, "", "config", need, &config, err) < 0)
		return -1;
	if (input == INPUT_NONE)
		return 0;
	return decode_config(config, input, recorded, bounds, &out->config, err) < 0
		       ? -1
		       : refuse_console_of_session(out, err);
}

static json_t *load_document(const void *data, size_t len, struct error *err)
{
	size_t most = limit_get(LIMIT_REQUEST_BYTES);
	json_t *document;

	if (!len) {
		error_set(err, ERR_INVALID, "the request is empty: send one JSON object");
		return NULL;
	}
	if (len > most) {
		error_set(err, ERR_INVALID,
			  "the request is longer than %zu bytes: send a shorter one", most);
		return NULL;
	}
	document = json_load_nul(data, len, err);
	if (!document)
		error_prefix(err, "the request is not valid JSON");
	json_drop_nulls(document);
	return document;
}

int request_decode(const void *data, size_t len, const char *backend, bool recorded,
		   const struct host_bounds *bounds, struct request *out, struct error *err)
{
	json_auto_t *document = load_document(data, len, err);
	struct request request = {0};

	if (!document || decode_document(document, backend, recorded, bounds, &request, err) < 0) {
		config_free(&request.config);
		return -1;
	}
	request.document = steal_ptr(&document);
	*out = request;
	return 0;
}

int request_take_recorded(struct request *request, const struct config *recorded,
			  const struct host_bounds *bounds, struct error *err)
{
	json_auto_t *whole = json_copy(recorded->normalised);
	struct request taken = *request;

	taken.config = (struct config){0};
	if (config_check_memory(recorded->memory_mib, bounds, err) < 0 ||
	    config_check_cpus(recorded->cpus, bounds, err) < 0)
		return -1;
	if (!whole || json_object_update(whole, request->config.normalised) < 0)
		return error_errno(err, ENOMEM, "config");
	config_bind(steal_ptr(&whole), &taken.config);
	if (refuse_console_of_session(&taken, err) < 0) {
		config_free(&taken.config);
		return -1;
	}
	config_free(&request->config);
	*request = taken;
	return 0;
}

void request_free(struct request *request)
{
	config_free(&request->config);
	json_decref(request->document);
	*request = (struct request){0};
}
