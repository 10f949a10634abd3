/* SPDX-License-Identifier: MIT */
#include "guest/agent/config.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest/job/environ.h"

#define FORMAT 1

int config_message_kind(json_t *doc, enum host_message *kind, int64_t *realtime_ns,
			struct error *err)
{
	const char *type = NULL, *action = "off";

	if (json_get_string(doc, "", "type", JSON_REQUIRED, &type, err) < 0)
		return -1;
	*realtime_ns = 0;
	if (strcmp(type, "config") == 0) {
		*kind = HOST_CONFIG;
	} else if (strcmp(type, "time") == 0) {
		*kind = HOST_TIME;
	} else if (strcmp(type, "mount") == 0) {
		*kind = HOST_MOUNT;
	} else if (strcmp(type, "publish") == 0) {
		*kind = HOST_PUBLISH;
	} else if (strcmp(type, "unpublish") == 0) {
		*kind = HOST_UNPUBLISH;
	} else if (strcmp(type, "quiesce") == 0) {
		*kind = HOST_QUIESCE;
	} else if (strcmp(type, "settle") == 0) {
		*kind = HOST_SETTLE;
	} else if (strcmp(type, "power") == 0) {
		*kind = HOST_POWER_OFF;
		if (json_get_string(doc, "", "action", JSON_OPTIONAL, &action, err) < 0)
			return -1;
		if (strcmp(action, "off") != 0)
			return error_set(
				err, ERR_UNSUPPORTED,
				"the guest does not know the action \"%.32s\" of the host's message \"power\": this is a bug, or the guest's agent is of another version than microagent on the host",
				action);
	} else {
		/* A newer host may send kinds of messages that this agent does not know. */
		*kind = HOST_UNKNOWN;
	}
	return json_get_int(doc, "", "realtimeNs", JSON_OPTIONAL, 0, INT64_MAX, realtime_ns, err);
}

static bool is_id(const char *text, size_t len, const char *of)
{
	return strlen(text) == len && strspn(text, of) == len;
}

static int decode_renew(json_t *doc, struct guest_config *out, struct error *err)
{
	struct config_renew *renew = &out->renew;
	autobuf struct buf bytes = {0};
	const char *entropy = NULL;
	json_t *object = NULL;

	if (json_get_object(doc, "", "renew", JSON_OPTIONAL, &object, err) < 0)
		return -1;
	out->renews = object;
	if (!object)
		return 0;
	if (json_get_string(object, "renew", "entropy", JSON_REQUIRED, &entropy, err) < 0 ||
	    json_get_string(object, "renew", "bootId", JSON_REQUIRED, &renew->boot_id, err) < 0 ||
	    json_get_string(object, "renew", "machineId", JSON_REQUIRED, &renew->machine_id, err) <
		    0)
		return -1;
	if (!is_id(renew->boot_id, 36, "0123456789abcdef-") ||
	    !is_id(renew->machine_id, 32, "0123456789abcdef"))
		return error_set(
			err, ERR_INVALID,
			"the guest refuses the config, because the ids in \"renew\" are not valid: this is a bug of microagent on the host");
	if (base64_decode(entropy, strlen(entropy), &bytes, err) < 0)
		return error_prefix(
			err, "the guest refuses the config, because renew.entropy is not valid");
	if (bytes.len != RENEW_ENTROPY)
		return error_set(
			err, ERR_INVALID,
			"the guest refuses the config, because renew.entropy must have %d bytes: this is a bug of microagent on the host",
			RENEW_ENTROPY);
	memcpy(renew->entropy, buf_bytes(&bytes), RENEW_ENTROPY);
	return 0;
}

int config_decode(json_t *doc, struct guest_config *out, struct error *err)
{
	struct guest_config config = {0};
	int64_t format = FORMAT, keep = (int64_t)limit_get(LIMIT_RESULT_STREAM_BYTES);

	if (json_get_int(doc, "", "format", JSON_REQUIRED, FORMAT, FORMAT, &format, err) < 0 ||
	    json_get_string(doc, "", "hostname", JSON_OPTIONAL, &config.hostname, err) < 0 ||
	    json_get_bool(doc, "", "attach", JSON_OPTIONAL, &config.attach, err) < 0 ||
	    json_get_bool(doc, "", "telemetry", JSON_OPTIONAL, &config.telemetry, err) < 0 ||
	    json_get_bool(doc, "", "audit", JSON_OPTIONAL, &config.audit, err) < 0 ||
	    json_get_bool(doc, "", "template", JSON_OPTIONAL, &config.template, err) < 0 ||
	    json_get_object(doc, "", "env", JSON_OPTIONAL, &config.env, err) < 0 ||
	    json_get_array(doc, "", "disks", JSON_OPTIONAL, &config.disks, err) < 0 ||
	    json_get_array(doc, "", "shares", JSON_OPTIONAL, &config.shares, err) < 0 ||
	    json_get_array(doc, "", "publishes", JSON_OPTIONAL, &config.publishes, err) < 0 ||
	    json_get_int(doc, "", "resultStreamBytes", JSON_OPTIONAL, 0,
			 (int64_t)limit_get(LIMIT_RESULT_BYTES) / 4, &keep, err) < 0)
		return -1;
	config.keep = (size_t)keep;
	if (environ_check(config.env, "env", err) < 0)
		return -1;
	if (decode_renew(doc, &config, err) < 0)
		return -1;
	config.has_command = json_object_get(doc, "command") != NULL;
	if (config.has_command && request_decode_workload(doc, &config.workload, err) < 0)
		return -1;
	config.doc = json_incref(doc);
	*out = config;
	return 0;
}

void config_free(struct guest_config *config)
{
	request_free(&config->workload);
	json_decref(config->doc);
	*config = (struct guest_config){0};
}

bool config_is_upper(const char *id)
{
	return is_id(id, 32, "0123456789abcdef");
}

int config_disk_decode(json_t *item, struct config_disk *out, struct error *err)
{
	struct config_disk disk = {0};
	const char *mode = "rw";

	if (json_get_string(item, "disk", "serial", JSON_REQUIRED, &disk.serial, err) < 0 ||
	    json_get_string(item, "disk", "mountpoint", JSON_REQUIRED, &disk.mountpoint, err) < 0 ||
	    json_get_string(item, "disk", "mode", JSON_OPTIONAL, &mode, err) < 0)
		return -1;
	disk.name = disk.serial;
	if (json_get_string(item, "disk", "name", JSON_OPTIONAL, &disk.name, err) < 0)
		return -1;
	if (strcmp(mode, "review") == 0) {
		if (json_get_string(item, "disk", "upper", JSON_REQUIRED, &disk.upper, err) < 0)
			return -1;
		if (!config_is_upper(disk.upper))
			return error_set(
				err, ERR_INVALID,
				"the guest refuses the disk \"%.64s\", because its \"upper\" is not 32 hexadecimal digits: this is a bug of microagent on the host",
				disk.name);
	}
	disk.read_only = disk.upper || strcmp(mode, "ro") == 0;
	*out = disk;
	return 0;
}

int config_share_decode(json_t *item, struct config_share *out, struct error *err)
{
	struct config_share share = {0};
	const char *mode = "rw";

	if (json_get_string(item, "share", "tag", JSON_REQUIRED, &share.tag, err) < 0 ||
	    json_get_string(item, "share", "mountpoint", JSON_REQUIRED, &share.mountpoint, err) <
		    0 ||
	    json_get_string(item, "share", "mode", JSON_OPTIONAL, &mode, err) < 0 ||
	    json_get_bool(item, "share", "containers", JSON_OPTIONAL, &share.containers, err) < 0)
		return -1;
	share.read_only = strcmp(mode, "ro") == 0;
	*out = share;
	return 0;
}

int config_publish_decode(json_t *item, uint16_t *guest_port, struct error *err)
{
	int64_t port = 0;

	if (json_get_int(item, "publish", "guestPort", JSON_REQUIRED, 0, UINT16_MAX, &port, err) <
	    0)
		return -1;
	*guest_port = (uint16_t)port;
	return 0;
}
