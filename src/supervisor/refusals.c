/* SPDX-License-Identifier: MIT */
/*
 * Finds out what a backend can do. There is no list of this, since a list could differ from what
 * the code does. Instead, a network mode or a feature counts as available if none of the backend's
 * refusals applies to a config that asks for it. A command is available if the program has a
 * function for the command.
 */
#include "supervisor/refusals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "contract/config_fields.h"

/* The fields that every sample config needs. "@" is replaced by path_drive, the text that makes a
 * path absolute on this host. */
#define LEAST "\"rootfsPath\":\"/r\",\"stateDir\":\"@/s\""
#define LINUX "\"kernelPath\":\"/k\","
#define NO_NETWORK "\"network\":{\"mode\":\"isolated\"}"
#define ISOLATED LINUX NO_NETWORK

struct asking {
	const char *name;
	const char *fields; /* the fields of the config, in addition to those of LEAST */
};

static const struct asking network_askings[] = {
	{"nat", LINUX "\"network\":{\"mode\":\"nat\"}"},
	{"isolated", ISOLATED},
	{"bridged", LINUX "\"network\":{\"mode\":\"bridged\",\"interface\":\"br0\"}"},
};

/* Features that the samples of config_fields do not ask for, or do not ask for as a whole. */
static const struct asking feature_askings[] = {
	/* The mode is isolated because every backend has this mode. Most backends refuse port
	 * forwards on an isolated network in a request, but not in a record, and the samples are
	 * decoded as records. */
	{"network.portForwards", LINUX
	 "\"network\":{\"mode\":\"isolated\",\"portForwards\":[{\"hostPort\":1,\"guestPort\":1}]}"},
	{"network.allow", LINUX "\"network\":{\"mode\":\"nat\",\"allow\":[\"10.0.0.0/8\"]}"},
	{"network.egress", LINUX "\"network\":{\"mode\":\"nat\",\"egress\":{}}"},
	{"shares[].cache", ISOLATED
	 ",\"shares\":[{\"tag\":\"t\",\"path\":\"@/d\",\"mountpoint\":\"/d\",\"mode\":\"ro\",\"cache\":\"always\"}]"},
	{"shares[].locks", ISOLATED
	 ",\"shares\":[{\"tag\":\"t\",\"path\":\"@/d\",\"mountpoint\":\"/d\",\"mode\":\"ro\",\"locks\":true}]"},
	{"limits", LINUX
	 "\"network\":{\"mode\":\"nat\"},\"limits\":{\"diskBytesPerSecond\":1,\"diskOpsPerSecond\":1,\"netBytesPerSecond\":1}"},
	{"macos", NO_NETWORK
	 ",\"macos\":{\"hardwareModelPath\":\"/h\",\"auxiliaryStoragePath\":\"/a\",\"machineIdentifierPath\":\"/m\"}"},
};

/* Returns true if the document has the field with this path, for example
 * "limits.diskBytesPerSecond". */
static bool has_field(const json_t *document, const char *path)
{
	for (;;) {
		size_t len = strcspn(path, ".");

		document = json_object_getn(document, path, len);
		if (!document || !path[len])
			return document != NULL;
		path += len + 1;
	}
}

static bool is_refused_by(const char *backend, const struct config_field *field)
{
	return field->qemu_alone && strcmp(backend, "qemu") != 0;
}

int refusals_check(const char *backend, const struct backend_refusal *refusals,
		   const struct config *config, struct error *err)
{
	char path[REFUSAL_PATH];

	for (const struct backend_refusal *row = refusals; row->field; row++) {
		snprintf(path, sizeof(path), "%s", row->field);
		if (row->asks ? row->asks(config, path) : has_field(config->normalised, path))
			return error_set(err, ERR_UNSUPPORTED, "config.%s: %s", path,
					 row->limitation);
	}
	for (const struct config_field *field = config_fields; field->key; field++)
		if (is_refused_by(backend, field) && has_field(config->normalised, field->key))
			return error_set(err, ERR_UNSUPPORTED, "config.%s: %s", field->key,
					 field->qemu_alone);
	return 0;
}

static json_t *least_config(const char *fields, struct error *err)
{
	autobuf struct buf text = BUF_INIT(0);
	const char *const parts[] = {"{" LEAST ",", fields, "}"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (const char *p = parts[i]; *p; p++)
			if (buf_printf(&text, err, "%.*s", *p == '@' ? 8 : 1,
				       *p == '@' ? path_drive : p) < 0)
				return NULL;
	return json_load_strict(buf_bytes(&text), text.len, err);
}

static int add_honoured(const char *backend, const struct backend_refusal *refusals,
			const char *name, const char *fields, json_t *names, struct error *err)
{
	struct config config = {0};
	json_auto_t *given = least_config(fields, err);
	bool honoured;

	if (!given || config_from_record(given, &config, err) < 0)
		return -1;
	honoured = refusals_check(backend, refusals, &config, NULL) == 0;
	config_free(&config);
	if (honoured && json_array_append_new(names, json_string(name)) < 0)
		return error_errno(err, ENOMEM, "capabilities");
	return 0;
}

static json_t *honoured_networks(const char *backend, const struct backend_refusal *refusals,
				 struct error *err)
{
	json_auto_t *names = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(network_askings); i++)
		if (add_honoured(backend, refusals, network_askings[i].name,
				 network_askings[i].fields, names, err) < 0)
			return NULL;
	return steal_ptr(&names);
}

static json_t *honoured_features(const char *backend, const struct backend_refusal *refusals,
				 struct error *err)
{
	json_auto_t *names = json_array();

	for (const struct config_field *field = config_fields; field->key; field++) {
		autofree char *fields = NULL;

		if (!field->sample)
			continue;
		if (asprintf(&fields, ISOLATED ",\"%s\":%s", field->key, field->sample) < 0) {
			fields = NULL;
			error_errno(err, ENOMEM, "capabilities");
			return NULL;
		}
		if (add_honoured(backend, refusals, field->key, fields, names, err) < 0)
			return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(feature_askings); i++)
		if (add_honoured(backend, refusals, feature_askings[i].name,
				 feature_askings[i].fields, names, err) < 0)
			return NULL;
	return steal_ptr(&names);
}

static int add_refusal(json_t *list, const char *field, const char *limitation, struct error *err)
{
	json_auto_t *item = json_object();

	if (json_put_string(item, "field", field, err) < 0 ||
	    json_put_string(item, "limitation", limitation, err) < 0)
		return -1;
	return json_array_append(list, item) < 0 ? error_errno(err, ENOMEM, "capabilities") : 0;
}

static json_t *refusals_json(const char *backend, const struct backend_refusal *refusals,
			     struct error *err)
{
	json_auto_t *list = json_array();

	for (const struct backend_refusal *row = refusals; row->field; row++)
		if (add_refusal(list, row->field, row->limitation, err) < 0)
			return NULL;
	for (const struct config_field *field = config_fields; field->key; field++)
		if (is_refused_by(backend, field) &&
		    add_refusal(list, field->key, field->qemu_alone, err) < 0)
			return NULL;
	return steal_ptr(&list);
}

static json_t *command_names(const bool built[COMMAND_COUNT], struct error *err)
{
	json_auto_t *names = json_array();

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (built[i] &&
		    json_array_append_new(names, json_string(command_table[i].name)) < 0) {
			error_errno(err, ENOMEM, "capabilities");
			return NULL;
		}
	return steal_ptr(&names);
}

json_t *refusals_capabilities(const char *name, const struct backend_refusal *refusals,
			      const bool built[COMMAND_COUNT], struct error *err)
{
	json_auto_t *document = json_object();
	json_auto_t *commands = command_names(built, err);
	json_auto_t *networks = honoured_networks(name, refusals, err);
	json_auto_t *features = honoured_features(name, refusals, err);
	json_auto_t *list = refusals_json(name, refusals, err);

	if (!commands || !networks || !features || !list ||
	    json_put_string(document, "backend", name, err) < 0 ||
	    json_put(document, "commands", json_incref(commands), err) < 0 ||
	    json_put(document, "networks", json_incref(networks), err) < 0 ||
	    json_put(document, "features", json_incref(features), err) < 0 ||
	    json_put(document, "refusals", json_incref(list), err) < 0)
		return NULL;
	return steal_ptr(&document);
}
