/* SPDX-License-Identifier: MIT */
/*
 * No list is kept of what a backend can do, since a list would grow old. A network mode or a
 * feature is there if none of the backend's refusals is what a config with it asks for; a command
 * if there is a function behind it.
 */
#include "supervisor/capabilities.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/request.h"

#define LEAST "\"rootfsPath\":\"/r\",\"stateDir\":\"/s\""
#define LINUX "\"kernelPath\":\"/k\","
#define NO_NETWORK "\"network\":{\"mode\":\"isolated\"}"
#define ISOLATED LINUX NO_NETWORK

struct asking {
	const char *name;
	const char *fields; /* of a config, beside the required ones */
};

static const struct asking network_askings[] = {
	{"nat", LINUX "\"network\":{\"mode\":\"nat\"}"},
	{"isolated", ISOLATED},
	{"bridged", LINUX "\"network\":{\"mode\":\"bridged\",\"interface\":\"br0\"}"},
};

static const struct asking feature_askings[] = {
	{"initrdPath", ISOLATED ",\"initrdPath\":\"/i\""},
	{"rootfsBase", ISOLATED ",\"rootfsBase\":\"/b\""},
	{"network.portForwards", LINUX
	 "\"network\":{\"mode\":\"nat\",\"portForwards\":[{\"hostPort\":1,\"guestPort\":1}]}"},
	{"network.allow", LINUX "\"network\":{\"mode\":\"nat\",\"allow\":[\"10.0.0.0/8\"]}"},
	{"disks", ISOLATED ",\"disks\":[{\"name\":\"d\",\"path\":\"/d\",\"mountpoint\":\"/d\","
			   "\"mode\":\"ro\"}]"},
	{"shares", ISOLATED ",\"shares\":[{\"tag\":\"t\",\"path\":\"/d\",\"mountpoint\":\"/d\","
			    "\"mode\":\"ro\"}]"},
	{"bundles",
	 ISOLATED ",\"bundles\":[{\"name\":\"b\",\"path\":\"/b\",\"mountpoint\":\"/b\"}]"},
	{"outputs", ISOLATED ",\"outputs\":[{\"name\":\"o\",\"path\":\"/o\"}]"},
	{"mediation", ISOLATED ",\"mediation\":{\"enabled\":true,\"required\":true,\"port\":2048,"
			       "\"target\":\"127.0.0.1:1\",\"failClosed\":true}"},
	{"vsockListeners",
	 ISOLATED ",\"vsockListeners\":[{\"port\":2048,\"target\":\"127.0.0.1:1\"}]"},
	{"cgroup", ISOLATED ",\"cgroup\":\"inherit\""},
	{"limits", LINUX "\"network\":{\"mode\":\"nat\"},\"limits\":{\"diskBytesPerSecond\":1,"
			 "\"diskOpsPerSecond\":1,\"netBytesPerSecond\":1}"},
	{"hotplug", ISOLATED ",\"hotplug\":true"},
	{"confinement", ISOLATED ",\"confinement\":\"seccomp\""},
	{"console", ISOLATED ",\"console\":\"shell\""},
	{"architecture", ISOLATED ",\"architecture\":\"arm64\""},
	{"macos",
	 NO_NETWORK ",\"macos\":{\"hardwareModelPath\":\"/h\",\"auxiliaryStoragePath\":\"/a\","
		    "\"machineIdentifierPath\":\"/m\"}"},
};

int capabilities_refuse(const struct backend *backend, const struct config *config,
			struct error *err)
{
	char path[REFUSAL_PATH];

	for (const struct backend_refusal *row = backend->refusals; row->field; row++) {
		snprintf(path, sizeof(path), "%s", row->field);
		if (row->asks(config, path))
			return error_set(err, ERR_UNSUPPORTED, "config.%s: %s", path,
					 row->limitation);
	}
	return 0;
}

int capabilities_check(const struct backend *backend, const struct config *config,
		       struct error *err)
{
	return capabilities_refuse(backend, config, err) < 0 ? -1 : backend->check(config, err);
}

/* 1: honoured, 0: not. */
static int is_field_honoured(const struct backend *backend, const struct asking *asking,
			     struct error *err)
{
	char text[512];
	struct config config = {0};
	int len = snprintf(text, sizeof(text), "{" LEAST ",%s}", asking->fields);
	json_auto_t *given = json_load_strict(text, (size_t)len, err);

	if (!given || config_from_record(given, &config, err) < 0)
		return -1;
	bool honoured = capabilities_refuse(backend, &config, NULL) == 0;

	config_free(&config);
	return honoured;
}

static json_t *honoured_names(const struct backend *backend, const struct asking *askings,
			      size_t count, struct error *err)
{
	json_auto_t *names = json_array();

	for (size_t i = 0; i < count; i++) {
		int honoured = is_field_honoured(backend, &askings[i], err);

		if (honoured < 0)
			return NULL;
		if (honoured && json_array_append_new(names, json_string(askings[i].name)) < 0) {
			error_errno(err, ENOMEM, "capabilities");
			return NULL;
		}
	}
	return steal_ptr(&names);
}

/* What has no field in a config, but a function of the backend. */
static int add_functions(const struct backend *backend, json_t *features, struct error *err)
{
	const struct {
		bool there;
		const char *name;
	} rows[] = {
		{backend_has_power_button(backend, architecture_of_host()), "powerButton"},
		{backend->pauses_on_full_disk, "pauseOnFullDisk"},
		{backend->balloon != NULL, "balloon"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].there && json_array_append_new(features, json_string(rows[i].name)) < 0)
			return error_errno(err, ENOMEM, "capabilities");
	return 0;
}

static json_t *refusals_json(const struct backend *backend, struct error *err)
{
	json_auto_t *list = json_array();

	for (const struct backend_refusal *row = backend->refusals; row->field; row++) {
		json_auto_t *item = json_object();

		if (json_put_string(item, "field", row->field, err) < 0 ||
		    json_put_string(item, "limitation", row->limitation, err) < 0)
			return NULL;
		if (json_array_append(list, item) < 0) {
			error_errno(err, ENOMEM, "capabilities");
			return NULL;
		}
	}
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

json_t *capabilities_json(const struct backend *backend, const bool built[COMMAND_COUNT],
			  struct error *err)
{
	json_auto_t *document = json_object();
	json_auto_t *commands = command_names(built, err);
	json_auto_t *networks =
		honoured_names(backend, network_askings, ARRAY_SIZE(network_askings), err);
	json_auto_t *features =
		honoured_names(backend, feature_askings, ARRAY_SIZE(feature_askings), err);
	json_auto_t *refusals = refusals_json(backend, err);

	if (!commands || !networks || !features || !refusals ||
	    add_functions(backend, features, err) < 0 ||
	    json_put_string(document, "backend", backend->name, err) < 0 ||
	    json_put(document, "commands", json_incref(commands), err) < 0 ||
	    json_put(document, "networks", json_incref(networks), err) < 0 ||
	    json_put(document, "features", json_incref(features), err) < 0 ||
	    json_put(document, "refusals", json_incref(refusals), err) < 0)
		return NULL;
	return steal_ptr(&document);
}
